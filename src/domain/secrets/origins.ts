/**
 * Records who set each secret of a set and when, unencrypted next to the names. A new set takes over the origins of
 * unchanged values. Pure.
 */
import type { SecretSet } from '../../generated/prisma/client.ts'
import type { EventActor } from '../values/event-actor.ts'
import type { Secret } from '../values/shapes.ts'

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
export function originsOf(set: Pick<SecretSet, 'setBy'> | null): Map<string, Origin> {
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
export function storedOrigins(origins: ReadonlyMap<string, Origin>): Group[] {
  const groups = new Map<string, Group>()
  for (const [name, { at, by }] of origins) {
    const key = JSON.stringify([at, by])
    const group = groups.get(key) ?? { at: at.toISOString(), by, names: [] }
    group.names.push(name)
    groups.set(key, group)
  }
  return [...groups.values()]
}
