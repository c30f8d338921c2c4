/**
 * Sets of secrets at rest: each is encrypted with a random key of its own, which the key ring wraps. A set is immutable:
 * PATCH creates a new one, and each revision refers to the set that it was created with.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import type { Prisma, SecretSet } from '../../generated/prisma/client.ts'
import { decrypt, encrypt, type KeyRing } from '../crypto/keyring.ts'
import { seesValues } from '../transaction/access.ts'
import type { RequestContext, Tx } from '../transaction/context.ts'
import type { Secret } from '../values/shapes.ts'
import { type Origin, originsOf, storedOrigins } from './origins.ts'

/** What callers without `secrets:read` see instead of a value. */
export const MASK = '••••••••'

/** What a new set is made of. */
export interface NewSet {
  /** a new one by default */
  id?: string
  deploymentId: string
  /** by name; absent: nothing is known */
  origins?: ReadonlyMap<string, Origin>
  createdAt: Date
}

/** Makes a set in a transaction and returns its id. */
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

/** A set, encrypted with a key of its own. Pure, but for that key. */
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

/** Decrypts a set, in the order of its names. No set: no secrets. */
export function openSecrets(keyring: KeyRing, set: SecretSet | null): Secret[] {
  if (!set || set.names.length === 0) return []
  const dataKey = keyring.unwrap(set.keyId, set.wrappedKey, set.id)
  const values = JSON.parse(decrypt(dataKey, set.ciphertext, set.id).toString('utf8')) as Record<string, string>
  return set.names.map((name) => ({ name, value: values[name] ?? '' }))
}

/** Stands for a set that is gone, or that nobody opens: its names, and what is known of them. */
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

/** What this caller may see of a set: values only with `secrets:read`. */
export function presentSecrets(ctx: Pick<RequestContext, 'actor' | 'keyring'>, set: SecretSet | null): Secret[] {
  if (seesValues(ctx.actor) && canOpen(set)) return openSecrets(ctx.keyring, set)
  return (set?.names ?? []).map((name) => ({ name, value: MASK }))
}

/** A secret as it is shown to a caller. */
export interface ShownSecret extends Secret {
  /** null: a server of before set it */
  origin: Origin | null
}

/** The same with when each was set, and by whom, which everybody sees. */
export function presentWithOrigins(
  ctx: Pick<RequestContext, 'actor' | 'keyring'>,
  set: SecretSet | null,
): ShownSecret[] {
  const origins = originsOf(set)
  return presentSecrets(ctx, set).map((secret) => ({ ...secret, origin: origins.get(secret.name) ?? null }))
}
