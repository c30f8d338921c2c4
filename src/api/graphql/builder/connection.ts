/** Cursor connections from the slices that the domain reads: edges, page info, and a total that is counted on demand. */
import type { Slice, Window } from '../../../domain/core/paging.ts'

/** Where a connection's nodes are selected: what is asked of them has to be planned from both. */
export const NODE_PATHS = [[{ name: 'nodes' }], [{ name: 'edges' }, { name: 'node' }]]

/**
 * The second argument of a prisma field's `nestedSelection` for a connection of `typeName`. Pothos' own
 * relatedConnection passes the same thing; its public type knows only one path.
 */
export function nodesOf(typeName: string): never {
  return { getType: () => typeName, paths: NODE_PATHS } as never
}

export function connectionOf<T>(
  slice: Slice<T>,
  window: Window,
  cursorOf: (row: T) => string,
  totalCount: () => number | Promise<number>,
) {
  const edges = slice.rows.map((node) => ({ cursor: cursorOf(node), node }))
  return {
    edges,
    totalCount,
    pageInfo: {
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
      hasNextPage: slice.backward ? window.before != null : slice.hasMore,
      hasPreviousPage: slice.backward ? slice.hasMore : window.after != null,
    },
  }
}
