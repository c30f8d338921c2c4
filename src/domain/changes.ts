/** Whether a PATCH says anything new: what is stored already is no change, and no event tells of it. Pure. */
import { isDeepStrictEqual } from 'node:util'

/** `said`: columns and their new values; undefined, as to Prisma, is nothing said. */
export function changesAnything<T extends object>(stored: T, said: { [K in keyof T]?: unknown }): boolean {
  return (Object.entries(said) as [keyof T, unknown][]).some(
    ([name, value]) => value !== undefined && !isDeepStrictEqual(value, stored[name]),
  )
}
