/**
 * What a mutation selects of what it has written, read in the transaction of the write (contract 2). Fields below are
 * resolved from that row; what it can't have (the log of events, a relation that is selected twice with other
 * arguments) is read when it is resolved.
 */
import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import type { Sql } from '../domain/context.ts'
import type { ReadBack } from '../domain/written.ts'
import type { GraphQLContext } from './context.ts'

/** Says of a selection that there is none. */
const NOTHING = { id: true } as const

/**
 * Prisma's part of what is selected under `field` of the mutation's success; null: it is not selected at all. To be
 * called before the verb: the resolvers of the fields below are told what was read. What is read with it has at least
 * what they need, whatever its type says.
 */
export function selectionOf(
  ctx: GraphQLContext,
  info: GraphQLResolveInfo,
  field: string,
  typeName: string,
): object | null {
  const query = queryFromInfo({ context: ctx, info, typeName, path: [field], select: NOTHING })
  return query.select === NOTHING ? null : query
}

/** The one row that a mutation has written; null: nothing of it is selected. */
export interface Left<Row> {
  row: Row | null
}

/** Reads what is selected under `field` of the row that was written. `select`: the domain's, of the resource. */
export function readsRow<Row>(
  ctx: GraphQLContext,
  info: GraphQLResolveInfo,
  field: string,
  typeName: string,
  select: (sql: Sql, id: string, query: object) => Promise<Row>,
): ReadBack<{ id: string }, Left<Row>> {
  const query = selectionOf(ctx, info, field, typeName)
  return async (sql, { id }) => ({ row: query && (await select(sql, id, query)) })
}
