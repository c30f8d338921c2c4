/** Batches look-ups that Prisma's schema has no relation for, so that a list of 50 rows needs one statement. */
import { createContextCache } from '@pothos/core'
import DataLoader from 'dataloader'
import type { GraphQLContext } from './context.ts'

const loadersOf = createContextCache(() => new Map<string, DataLoader<string, unknown>>())

/**
 * Loads one value for `id`. All ids of one tick with the same `key` are loaded together. The key must name the look-up and
 * all its parameters except the id. Nothing is cached, because a subscription lives long.
 */
export function loadBatched<T>(
  ctx: GraphQLContext,
  key: string,
  id: string,
  loadMany: (ids: readonly string[]) => Promise<Map<string, T>>,
): Promise<T | undefined> {
  const loaders = loadersOf(ctx)
  let loader = loaders.get(key) as DataLoader<string, T | undefined> | undefined
  if (!loader) {
    loader = new DataLoader(
      async (ids) => {
        const found = await loadMany([...new Set(ids)])
        return ids.map((one) => found.get(one))
      },
      { cache: false },
    )
    loaders.set(key, loader as DataLoader<string, unknown>)
  }
  return loader.load(id)
}
