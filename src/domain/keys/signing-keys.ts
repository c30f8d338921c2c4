/** Key pairs of signed tokens: the key that signs links to agents, and the public keys of the tokens that agents get. */
import { createPrivateKey, generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID } from 'node:crypto'
import type { Prisma } from '../../generated/prisma/client.ts'
import { seal, unseal } from '../crypto/encrypted-value.ts'
import type { ReadCore } from '../transaction/context.ts'

/** The place of a sealed value (domain/secrets/rotate.ts). */
const placeOf = (id: string) => `signing_keys.private_key:${id}`

/** The newest key for links. The first call creates it; concurrent first calls may create several, and all are valid. */
export async function linkKey(core: ReadCore): Promise<{ id: string; privateKey: KeyObject }> {
  const { db, keyring } = core
  const [found] = await db.signingKey.findMany({
    where: { purpose: 'link' },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: 1,
  })
  if (found) {
    const jwk: JsonWebKey = JSON.parse(unseal(keyring, placeOf(found.id), found.privateKey!))
    return { id: found.id, privateKey: createPrivateKey({ key: jwk, format: 'jwk' }) }
  }
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const id = randomUUID()
  const sealed = seal(keyring, placeOf(id), JSON.stringify(privateKey.export({ format: 'jwk' })))
  const publicJwk = publicKey.export({ format: 'jwk' }) as Prisma.InputJsonObject
  await db.signingKey.create({ data: { id, purpose: 'link', publicJwk, privateKey: sealed } })
  return { id, privateKey }
}

/** Public keys of the tokens in `X-Pilothouse-Caller`, in the form of a JSON Web Key Set (RFC 7517, 5). */
export async function callerKeySet({ db }: ReadCore): Promise<{ keys: JsonWebKey[] }> {
  const found = await db.signingKey.findMany({ where: { purpose: 'caller' }, orderBy: { createdAt: 'desc' } })
  return { keys: found.map(({ id, publicJwk }) => ({ use: 'sig', alg: 'EdDSA', ...(publicJwk as object), kid: id })) }
}
