/**
 * What a mutation selects of what it has written, read in the transaction of the write (docs/api-rules.md#errors). Fields below are
 * resolved from that row; what it can't have (the log of events, a relation that is selected twice with other
 * arguments) is read when it is resolved.
 */
import type { ObjectRef } from '@pothos/core'
import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import type { Tx } from '../../../domain/transaction/context.ts'
import type { ReadBack } from '../../../domain/transaction/read-back.ts'
import { builder, type Types } from './builder.ts'
import type { GraphQLContext } from './context.ts'

/** Stands for a selection of nothing. */
const NOTHING = { id: true } as const

/**
 * Prisma's part of what is selected under `field` of the mutation's success; null: it is not selected at all. To be
 * called before the verb, since it also prepares the resolvers of the fields below. What is read with it has at least
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
interface WrittenRow<Row> {
  row: Row | null
}

/**
 * For mutations that answer the row they have written, under `field`: their success types, and what each reads for its
 * own. `select`: the domain's, of the resource.
 */
export function rowMutation<Row>(
  field: string,
  type: ObjectRef<PothosSchemaTypes.ExtendDefaultTypes<Types>, Row>,
  select: (tx: Tx, id: string, query: object) => Promise<Row>,
) {
  return {
    success: (name: string) =>
      builder.objectRef<WrittenRow<Row>>(name).implement({
        fields: (t) => ({
          [field]: t.field({ type, description: 'As this call left it.', resolve: ({ row }) => row as never }),
        }),
      }),
    readBack(ctx: GraphQLContext, info: GraphQLResolveInfo): ReadBack<{ id: string }, WrittenRow<Row>> {
      const query = selectionOf(ctx, info, field, type.name)
      return async (tx, { id }) => ({ row: query && (await select(tx, id, query)) })
    },
  }
}
