/** Batches look-ups of resolvers, so that a list of 50 rows needs one statement. */
import { createContextCache } from '@pothos/core'
import { type NodeType, readNodes } from '../../../domain/nodes.ts'
import type { Selection } from '../../../domain/query-engine/rows.ts'
import { createBatcher } from '../../../platform/async/batcher.ts'
import type { GraphQLContext } from './context.ts'

const batchOf = createContextCache(() =>
  createBatcher({ maxBatch: Number.POSITIVE_INFINITY, maxWaitMs: 0, gathersTurn: true }),
)

/**
 * Loads one value for `id`. All ids of one turn with the same `key` are loaded together. The key must name the look-up and
 * all its parameters except the id. Nothing is cached, because a subscription lives long.
 */
export function loadBatched<T>(
  ctx: GraphQLContext,
  key: string,
  id: string,
  loadMany: (ids: readonly string[]) => Promise<Map<string, T>>,
): Promise<T | undefined> {
  return batchOf(ctx)(key, id, async (ids: readonly string[]) => {
    const found = await loadMany([...new Set(ids)])
    return ids.map((one) => found.get(one))
  })
}

/**
 * The tenant's row with this id and the selected fields. Null: there is none. Equal selections of one turn share a statement.
 * The caller's role is checked.
 */
export async function loadRow<Row>(
  ctx: GraphQLContext,
  type: NodeType,
  id: string | null,
  selection: Selection,
): Promise<Row | null> {
  // Pothos throws if a selection is not used, so serialize it before any return
  const key = `${type} ${JSON.stringify(selection)}`
  if (id === null) return null
  const row = await loadBatched(ctx, key, id, async (ids) => {
    const rows = await readNodes(ctx, type, ids, selection)
    return new Map(rows.map((one) => [one.id, one]))
  })
  return (row ?? null) as Row | null
}
