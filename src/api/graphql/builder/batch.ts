/** Batches look-ups that Prisma's schema has no relation for, so that a list of 50 rows needs one statement. */
import { createContextCache } from '@pothos/core'
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
