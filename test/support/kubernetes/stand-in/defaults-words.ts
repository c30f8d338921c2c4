/** Helpers for defaults, and for members that the API server drops when it decodes an object. */
import { clone, type Json } from './objects.ts'
import { canonical, isQuantity } from './quantity.ts'

/** Sets missing members. */
export function fill(object: Json, defaults: Json): void {
  for (const [name, value] of Object.entries(defaults)) if (object[name] === undefined) object[name] = clone(value)
}

/** Drops members that a decoded object can't hold: null and empty lists (omitempty). */
export function tidy(value: Json): Json {
  if (Array.isArray(value)) return value.map(tidy)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value)
    .filter(([, member]) => member !== null && member !== undefined && !(Array.isArray(member) && member.length === 0))
    .map(([name, member]) => [name, tidy(member)])
  return Object.fromEntries(kept)
}

/** Maps that are dropped when empty. Other empty objects, like `emptyDir: {}`, have a meaning. */
export const dropEmpty = (object: Json, ...names: string[]): void => {
  for (const name of names) {
    const value = object?.[name]
    if (value === undefined) continue
    const empty =
      typeof value === 'object' ? Object.keys(value).length === 0 : value === '' || value === false || value === 0
    if (empty) delete object[name]
  }
}

/** Quantities in canonical form. Invalid ones are left for validation. */
export function quantities(object: Json, ...names: string[]): void {
  for (const name of names) {
    for (const [resource, amount] of Object.entries(object?.[name] ?? {})) {
      if (isQuantity(amount)) object[name][resource] = canonical(amount)
    }
  }
}
