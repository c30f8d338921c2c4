/** What a PATCH changes: if nothing, it writes nothing and emits no event. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { snake } from './naming.ts'

/** `changes`: columns and their new values; undefined: no change, as in Prisma. */
type Changes<T> = { [K in keyof T]?: unknown }

/** The names of the fields that get another value, as events tell them: in snake_case, and never with a value. */
export function changedFields<T extends object>(stored: T, changes: Changes<T>): string[] {
  return (Object.entries(changes) as [string & keyof T, unknown][])
    .filter(([name, value]) => value !== undefined && !isDeepStrictEqual(value, stored[name]))
    .map(([name]) => snake(name))
}
