/** A Prisma client of a transaction that flushes recorded changes before each query. */
import type { Prisma } from '../../generated/prisma/client.ts'

type Sql = Prisma.TransactionClient

type Call = (...args: unknown[]) => unknown

/** Calls `ready` before each query. Queries are sent immediately, even if their result is not awaited. */
export function prismaOf(ready: () => Promise<Sql>): Sql {
  const call =
    (select: (sql: Sql) => unknown, name: string) =>
    async (...args: unknown[]) => {
      const owner = select(await ready()) as Record<string, Call>
      return owner[name]!(...args)
    }
  const methods = (select: (sql: Sql) => unknown) => (_: object, name: string | symbol) =>
    // `await` looks for a `then` method on the object
    typeof name === 'symbol' || name === 'then' ? undefined : call(select, name)
  const get = (_: object, name: string | symbol) => {
    if (typeof name === 'symbol' || name === 'then') return undefined
    if (name.startsWith('$')) return call((sql) => sql, name)
    return new Proxy({}, { get: methods((sql) => sql[name as keyof Sql]) })
  }
  return new Proxy({}, { get }) as Sql
}
