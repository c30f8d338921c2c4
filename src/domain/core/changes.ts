/** Whether a PATCH changes anything: if not, it writes nothing and emits no event. Pure. */
import { isDeepStrictEqual } from 'node:util'

/** `changes`: columns and their new values; undefined: no change, as in Prisma. */
export function changesAnything<T extends object>(stored: T, changes: { [K in keyof T]?: unknown }): boolean {
  return (Object.entries(changes) as [keyof T, unknown][]).some(
    ([name, value]) => value !== undefined && !isDeepStrictEqual(value, stored[name]),
  )
}
