/** Nothing is asked of a database a second time that has just failed a request: who waited once for it is told so. */
import type { Db } from '../../../domain/transaction/context.ts'
import type { GraphQLContext } from '../builder/context.ts'

/** The same context, and whatever it asks of the database fails at once with this error. So the resolvers present it as their own. */
export function withoutDatabase(ctx: GraphQLContext, error: unknown): GraphQLContext {
  const fail = () => {
    const failed = Promise.reject(error)
    // what asks for several things at once may look at the first failure alone
    failed.catch(() => {})
    return failed
  }
  // a client, its models and their methods, and templates: all that is called fails
  const away: unknown = new Proxy(() => {}, { get: () => away, apply: fail })
  return { ...ctx, db: away as Db, query: fail, transact: fail }
}
