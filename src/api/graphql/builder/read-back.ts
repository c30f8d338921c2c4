/**
 * Reads what a mutation selects of its written row in the transaction of the write (docs/api-rules.md#errors). Fields that
 * this row can't contain (events, a relation selected twice with different arguments) are read when they are resolved.
 */
import type { ObjectRef } from '@pothos/core'
import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import type { Tx } from '../../../domain/transaction/context.ts'
import type { ReadBack } from '../../../domain/transaction/once.ts'
import { builder, type Types } from './builder.ts'
import type { GraphQLContext } from './context.ts'

/** Stands for an empty selection. */
const NOTHING = { id: true } as const

/**
 * Prisma's selection of `field` in the mutation's success type. Null: the field is not selected. Call it before the verb,
 * because it also prepares the resolvers below. The row has at least what they need, even if its type says less.
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

/** The row that a mutation wrote. Null: it is not selected. */
interface WrittenRow<Row> {
  row: Row | null
}

/**
 * For mutations that return their written row as `field`: the success type, and the function that reads the row. `select`:
 * the domain's reader of the resource.
 */
export function rowMutation<Row>(
  field: string,
  type: ObjectRef<PothosSchemaTypes.ExtendDefaultTypes<Types>, Row>,
  select: (tx: Tx, id: string, query: object) => Promise<Row>,
) {
  return {
    type: (name: string) =>
      builder.objectRef<WrittenRow<Row>>(name).implement({
        fields: (t) => ({
          [field]: t.field({ type, description: 'The resource after this call.', resolve: ({ row }) => row as never }),
        }),
      }),
    readBack(ctx: GraphQLContext, info: GraphQLResolveInfo): ReadBack<{ id: string }, WrittenRow<Row>> {
      const query = selectionOf(ctx, info, field, type.name)
      return async (tx, { id }) => ({ row: query && (await select(tx, id, query)) })
    },
  }
}
