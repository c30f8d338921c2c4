/** Finds the fields that a PATCH changes. Without changes it writes nothing and emits no event. */
import { isDeepStrictEqual } from 'node:util'
import { snake } from './naming.ts'

/** undefined means no change, as in Prisma */
type Changes<T> = { [K in keyof T]?: unknown }

/** Names in snake_case, for events, which never contain values. */
export function changedFields<T extends object>(stored: T, changes: Changes<T>): string[] {
  return (Object.entries(changes) as [string & keyof T, unknown][])
    .filter(([name, value]) => value !== undefined && !isDeepStrictEqual(value, stored[name]))
    .map(([name]) => snake(name))
}
