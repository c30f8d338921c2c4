/**
 * When each secret of a set got its value, and by whom: kept beside the names, in clear. A set that is made of another takes over what
 * it knows of values that stay. Pure.
 */
import type { SecretSet } from '../../generated/prisma/client.ts'
import type { EventActor } from '../values/event-actor.ts'
import type { Secret } from '../values/shapes.ts'

export interface Origin {
  at: Date
  by: EventActor
}

/** As it is stored: what was set together. */
interface Group {
  /** ISO 8601 */
  at: string
  by: EventActor
  names: string[]
}

/** By name. Of sets that servers of before made nothing is known. */
export function originsOf(set: Pick<SecretSet, 'setBy'> | null): Map<string, Origin> {
  const groups = (set?.setBy ?? []) as unknown as Group[]
  return new Map(groups.flatMap(({ at, by, names }) => names.map((name) => [name, { at: new Date(at), by }])))
}

/** What a new set is made from: the set before, opened. */
export interface Before {
  set: SecretSet | null
  secrets: readonly Secret[]
}

/**
 * Of the secrets of a new set. Those whose value is another than before are set now; `named`: so are these, whatever they were.
 */
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

/** As the column has them. */
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
