/**
 * Secret sets at rest. Each is encrypted with a random data key, which the key ring wraps. Sets are immutable: a change
 * makes a new set, and each revision keeps the set it was made with.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Prisma, SecretSet } from '../../generated/prisma/client.ts'
import { decrypt, encrypt, type KeyRing } from '../crypto/keyring.ts'
import { seesValues } from '../transaction/access.ts'
import type { RequestContext, Tx } from '../transaction/context.ts'
import type { Secret } from '../values/shapes.ts'
import { type Origin, originsOf, storedOrigins } from './origins.ts'

/** Shown instead of a value to callers without `secrets:read`. */
export const MASK = '••••••••'

export interface NewSet {
  /** default: a new id */
  id?: string
  deploymentId: string
  /** by name; absent: unknown */
  origins?: ReadonlyMap<string, Origin>
  createdAt: Date
}

/** Stores a new set and returns its id. */
export function storeSecrets(
  tx: Tx,
  keyring: KeyRing,
  made: Omit<NewSet, 'createdAt'>,
  secrets: readonly Secret[],
): string {
  const set = sealSecrets(keyring, { ...made, createdAt: tx.now() }, secrets)
  tx.unit.insert('secretSet', set)
  return set.id
}

/** Encrypts a set with a new data key. Otherwise pure. */
export function sealSecrets(
  keyring: KeyRing,
  { id = randomUUID(), deploymentId, origins, createdAt }: NewSet,
  secrets: readonly Secret[],
): SecretSet {
  const dataKey = randomBytes(32)
  const values = Object.fromEntries(secrets.map((secret) => [secret.name, secret.value]))
  return {
    id,
    deploymentId,
    names: secrets.map((secret) => secret.name),
    setBy: origins ? (storedOrigins(origins) as unknown as Prisma.JsonArray) : null,
    keyId: keyring.currentId,
    wrappedKey: new Uint8Array(keyring.wrap(dataKey, id)),
    ciphertext: new Uint8Array(encrypt(dataKey, Buffer.from(JSON.stringify(values)), id)),
    createdAt,
  }
}

/** Decrypts a set, in the order of its names. Empty for null. */
export function openSecrets(keyring: KeyRing, set: SecretSet | null): Secret[] {
  if (!set || set.names.length === 0) return []
  const dataKey = keyring.unwrap(set.keyId, set.wrappedKey, set.id)
  const values = JSON.parse(decrypt(dataKey, set.ciphertext, set.id).toString('utf8')) as Record<string, string>
  return set.names.map((name) => ({ name, value: values[name] ?? '' }))
}

/** A set without values: it was deleted, or nothing will decrypt it. */
export const setWithoutValues = (id: string, names: string[], setBy: SecretSet['setBy'] = null): SecretSet => ({
  id,
  deploymentId: '',
  names,
  setBy,
  keyId: '',
  wrappedKey: new Uint8Array(),
  ciphertext: new Uint8Array(),
  createdAt: new Date(0),
})

const canOpen = (set: SecretSet | null) => set === null || set.wrappedKey.length > 0

/** The secrets as this caller may see them: values only with `secrets:read`. */
export function presentSecrets(ctx: Pick<RequestContext, 'actor' | 'keyring'>, set: SecretSet | null): Secret[] {
  if (seesValues(ctx.actor) && canOpen(set)) return openSecrets(ctx.keyring, set)
  return (set?.names ?? []).map((name) => ({ name, value: MASK }))
}

export interface ShownSecret extends Secret {
  /** null: set by an older server */
  origin: Origin | null
}

/** The same, with the origins, which every caller may see. */
export function presentWithOrigins(
  ctx: Pick<RequestContext, 'actor' | 'keyring'>,
  set: SecretSet | null,
): ShownSecret[] {
  const origins = originsOf(set)
  return presentSecrets(ctx, set).map((secret) => ({ ...secret, origin: origins.get(secret.name) ?? null }))
}
