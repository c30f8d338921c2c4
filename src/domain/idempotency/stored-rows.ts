/**
 * Converts rows that a verb returned to JSON and back, including times and large numbers. Secret sets keep only their id and
 * names; sealed values are refused.
 */
import type { SecretSet } from '../../generated/prisma/client.ts'
import type { KeyRing } from '../crypto/keyring.ts'
import { presentSecrets, setWithoutValues } from '../secrets/secret-set.ts'
import { seesValues } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import type { Secret } from '../values/shapes.ts'

/** The member that tags what JSON lacks. Objects that have this member themselves are written as entries. */
const TYPE_MEMBER = '$'

type Json = null | string | number | boolean | Json[] | { [name: string]: Json }

/** Throws for a value that must not be stored, which is a bug. */
export function encodeRows(keyring: KeyRing, value: unknown): string {
  const encode = (one: unknown): Json => {
    if (one === null || one === undefined) return null
    if (typeof one === 'string') {
      if (isSealed(keyring, one)) throw new Error('a sealed value is in an answer that was to be kept')
      return one
    }
    if (typeof one === 'number' || typeof one === 'boolean') return one
    if (typeof one === 'bigint') return { [TYPE_MEMBER]: 'bigint', value: String(one) }
    if (one instanceof Date) return { [TYPE_MEMBER]: 'date', value: one.toISOString() }
    if (Array.isArray(one)) return one.map(encode)
    if (typeof one !== 'object' || one instanceof Uint8Array) throw new Error(`a ${typeof one} can't be kept`)
    if (isSecretSet(one)) return { [TYPE_MEMBER]: 'secrets', id: one.id, names: one.names, setBy: one.setBy as Json }
    const entries = Object.entries(one).filter(([, member]) => member !== undefined)
    const encoded = entries.map(([name, member]) => [name, encode(member)] as [string, Json])
    return TYPE_MEMBER in one ? { [TYPE_MEMBER]: 'object', value: encoded } : Object.fromEntries(encoded)
  }
  return JSON.stringify(encode(value))
}

/** Reads secret sets again if the caller may read values. A deleted set has only names. */
export async function decodeRows(ctx: ReadContext, text: string): Promise<unknown> {
  const json = JSON.parse(text) as Json
  const ids = [...text.matchAll(/\{"\$":"secrets","id":"([0-9a-f-]{36})"/g)].map(([, id]) => id!)
  const sets = await readSets(ctx, ids)
  return decode(json, sets)
}

function decode(json: Json, sets: ReadonlyMap<string, SecretSet>): unknown {
  if (json === null || typeof json !== 'object') return json
  if (Array.isArray(json)) return json.map((item) => decode(item, sets))
  const { [TYPE_MEMBER]: mark, value, id, names, setBy = null } = json
  if (mark === 'bigint') return BigInt(value as string)
  if (mark === 'date') return new Date(value as string)
  if (mark === 'secrets') return sets.get(id as string) ?? setWithoutValues(id as string, names as string[], setBy)
  const entries = mark === 'object' ? (value as [string, Json][]) : Object.entries(json)
  return Object.fromEntries(entries.map(([name, member]) => [name, decode(member, sets)]))
}

const isSecretSet = (value: object): value is SecretSet => 'wrappedKey' in value && 'ciphertext' in value

/** The form that crypto/encrypted-value.ts writes. */
function isSealed(keyring: KeyRing, text: string): boolean {
  const parts = text.split('.')
  return parts.length === 3 && keyring.has(parts[0]!) && parts.slice(1).every((part) => /^[\w-]{40,}$/.test(part))
}

/** The sets of the caller's workspace that still exist, by id. Empty for callers that may not read values. */
async function readSets(ctx: ReadContext, ids: readonly string[]): Promise<Map<string, SecretSet>> {
  if (!seesValues(ctx.actor) || ids.length === 0) return new Map()
  const where = { id: { in: [...ids] }, deployment: { workspaceId: ctx.workspace.id } }
  const sets = await ctx.db.secretSet.findMany({ where })
  return new Map(sets.map((set) => [set.id, set]))
}

/** The set's values; null: it is gone, or the caller may not read values. */
export async function readSecrets(ctx: ReadContext, id: string): Promise<Secret[] | null> {
  const set = (await readSets(ctx, [id])).get(id)
  return set ? presentSecrets(ctx, set) : null
}
