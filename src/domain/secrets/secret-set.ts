/**
 * Secret sets at rest, with the origins of their values. Each set is encrypted with a random data key, which the key ring wraps.
 * Sets are immutable: a change makes a new set, and each revision keeps the set it was made with.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Prisma, SecretSet } from '../../generated/prisma/client.ts'
import { decrypt, encrypt, type KeyRing } from '../crypto/keyring.ts'
import { NotFoundError } from '../errors/errors.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { liveDeployment, requireRole, seesValues } from '../transaction/access.ts'
import type { ReadContext, RequestContext, Tx } from '../transaction/context.ts'
import type { EventActor } from '../values/event-types.ts'
import { deploymentPath, type Secret } from '../values/shapes.ts'

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

export interface Origin {
  at: Date
  by: EventActor
}

/** Secrets that were set together, as stored. */
interface Group {
  /** ISO 8601 */
  at: string
  by: EventActor
  names: string[]
}

/** By name. Sets of older servers have no origins. */
function originsOf(set: Pick<SecretSet, 'setBy'> | null): Map<string, Origin> {
  const groups = (set?.setBy ?? []) as unknown as Group[]
  return new Map(groups.flatMap(({ at, by, names }) => names.map((name) => [name, { at: new Date(at), by }])))
}

/** The previous set and its decrypted secrets. */
export interface Before {
  set: SecretSet | null
  secrets: readonly Secret[]
}

/** The origins of a new set's secrets. Changed values count as set now; so do unchanged ones in `named`. */
export function originsAfter(
  before: Before,
  secrets: readonly Secret[],
  now: Origin,
  named: ReadonlySet<string> = new Set(),
): Map<string, Origin> {
  const known = originsOf(before.set)
  const values = new Map(before.secrets.map(({ name, value }) => [name, value]))
  const origins = new Map<string, Origin>()
  for (const { name, value } of secrets) {
    const stays = values.get(name) === value && !named.has(name)
    const origin = stays ? known.get(name) : now
    if (origin) origins.set(name, origin)
  }
  return origins
}

/** In the form of the column. */
function storedOrigins(origins: ReadonlyMap<string, Origin>): Group[] {
  const groups = new Map<string, Group>()
  for (const [name, { at, by }] of origins) {
    const key = JSON.stringify([at, by])
    const group = groups.get(key) ?? { at: at.toISOString(), by, names: [] }
    group.names.push(name)
    groups.set(key, group)
  }
  return [...groups.values()]
}

export interface SecretFingerprint {
  name: string
  /** 16 hex digits */
  fingerprint: string
}

const FINGERPRINT_BYTES = 8

/** In the set's order. Throws if the key ring lacks the set's key. */
export function fingerprintsOf(keyring: KeyRing, set: SecretSet | null): SecretFingerprint[] {
  if (!set || set.names.length === 0) return []
  const sign = keyring.signer(`fingerprints of secrets of ${set.deploymentId}`)
  return openSecrets(keyring, set).map(({ name, value }) => ({
    name,
    fingerprint: sign(JSON.stringify([name, value]))
      .subarray(0, FINGERPRINT_BYTES)
      .toString('hex'),
  }))
}

export const listSecretsInput = z.object({ path: deploymentPath })

export interface NamedSecret {
  name: string
  /** null: set by an older server */
  origin: Origin | null
}

/** In the set's order. Role: viewer. Throws NotFoundError. */
export async function listSecrets(ctx: ReadContext, raw: RawInput): Promise<NamedSecret[]> {
  requireRole(ctx, 'viewer')
  const { path } = parse(listSecretsInput, raw)
  const id = path.deployment_id
  const select = { secretSet: { select: { names: true, setBy: true } } }
  const deployment = await ctx.db.deployment.findFirst({ where: { id, ...liveDeployment(ctx) }, select })
  if (!deployment) throw new NotFoundError('Deployment', id)
  const origins = originsOf(deployment.secretSet)
  return (deployment.secretSet?.names ?? []).map((name) => ({ name, origin: origins.get(name) ?? null }))
}
