/**
 * Reads what doors need to know of deployments and callers, stores the public keys of doors, and has the key pairs of signed
 * tokens: links to agents are signed here, tokens for agents by the doors.
 */

import { createPrivateKey, generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID } from 'node:crypto'
import type { Prisma } from '../../generated/prisma/client.ts'
import { seal, unseal } from '../crypto/encrypted-value.ts'
import type { ReadCore, Statement } from '../transaction/context.ts'
import type { AccessCopy, DoorCluster } from '../values/access-copy.ts'

/**
 * The copy, unless $1 is its hash. The order makes equal data equal text. 1,000 deployments and 1,000 keys take 10 ms.
 * $2: ids of the door's listeners. $3: namespace of deployments without a listener.
 */
const READ: Statement = {
  name: 'access_copy',
  text: `
    WITH guarded AS (
      SELECT d.id, d.address_name, CASE WHEN d.deleted_at IS NULL THEN d.custom_host END AS host, d.workspace_id, w.organization_id, d.access, d.listener_id,
        coalesce(d.k8s_namespace, $3) AS namespace
      FROM deployments d JOIN workspaces w ON w.id = d.workspace_id
      WHERE (d.listener_id IS NULL OR d.listener_id = ANY($2::uuid[])) AND d.torn_down_at IS NULL
    ), copy AS (
      SELECT jsonb_build_object(
        'deployments', (
          SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', address_name, 'host', host, 'workspace', workspace_id, 'organization', organization_id,
            'access', access, 'namespace', namespace, 'listener', listener_id) ORDER BY id), '[]')
          FROM guarded),
        'keys', (
          SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'hash', hash, 'organization', organization_id, 'workspace', workspace_id, 'role', role,
            'expires', floor(extract(epoch FROM expires_at) * 1000)) ORDER BY id), '[]')
          FROM api_keys
          WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
            AND role IN ('viewer', 'deployer', 'admin', 'caller')),
        'sessions', (
          SELECT coalesce(jsonb_agg(s.id ORDER BY s.id), '[]') FROM sessions s LEFT JOIN api_keys k ON k.id = s.api_key_id
          WHERE s.hash IS NOT NULL AND s.ended_at IS NULL AND s.expires_at > now()
            AND (s.api_key_id IS NULL OR (k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())))),
        'linkKeys', (
          SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'jwk', public_jwk) ORDER BY id), '[]')
          FROM signing_keys WHERE purpose = 'link')
      ) AS data
    )
    SELECT md5(data::text) AS hash, CASE WHEN md5(data::text) IS DISTINCT FROM $1 THEN data END AS copy FROM copy`,
}
const SAVE_KEY: Statement = {
  name: 'save_caller_key',
  text: `INSERT INTO signing_keys (id, purpose, public_jwk) VALUES ($1, 'caller', $2) ON CONFLICT DO NOTHING`,
}

/**
 * One statement. `known`: hash of the copy that the caller has; then `copy` is null if nothing changed. `cluster`: null for the door
 * of a machine.
 */
export async function readAccessCopy(
  core: ReadCore,
  known: string | null,
  cluster: DoorCluster | null = null,
): Promise<{ hash: string; copy: AccessCopy | null }> {
  const values = [known, cluster?.listeners ?? [], cluster?.namespace ?? null]
  const [row] = await core.query<{ hash: string; copy: AccessCopy | null }>(READ, values)
  return row!
}

/** Stores the public key of a door's tokens for callers, which `/.well-known/jwks.json` shows. */
export async function saveCallerKey(core: ReadCore, jwk: { kid: string }): Promise<void> {
  await core.query(SAVE_KEY, [jwk.kid, JSON.stringify(jwk)])
}

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
