/** Cursor connections from the domain's slices: edges, page info, and a total that is counted on demand. */
import { newestCursor, type Slice, type Window } from '../../../domain/paging/paging.ts'
import { exactly, type Total } from '../../../domain/paging/total.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import type { Selection } from '../../../domain/transaction/once.ts'
import type { Resource } from '../../../domain/transaction/resource.ts'

/** The two places where a query can select a connection's nodes. */
export const NODE_PATHS = [[{ name: 'nodes' }], [{ name: 'edges' }, { name: 'node' }]]

export function connectionOf<T>(
  slice: Slice<T>,
  window: Window,
  cursorOf: (row: T) => string,
  count: () => number | Total | Promise<number | Total>,
) {
  return {
    edges: slice.rows.map((node) => ({ cursor: cursorOf(node), node })),
    total: counted(count),
    pageInfo: pageInfoOf(slice, window, cursorOf),
  }
}

/** A connection of a resource's list, newest first. */
export async function newestOf<Row extends { id: string; createdAt: Date }>(
  resource: Pick<Resource<Row>, 'window' | 'count'>,
  ctx: RequestContext,
  window: Window,
  query?: Selection,
  filter?: () => object,
) {
  const slice = await resource.window(ctx, window, query, filter)
  return connectionOf(slice, window, newestCursor, () => resource.count(ctx, filter))
}

/** The page info of a slice. */
export function pageInfoOf<T>({ rows, hasMore, backward }: Slice<T>, window: Window, cursorOf: (row: T) => string) {
  return {
    startCursor: rows.length > 0 ? cursorOf(rows[0]!) : null,
    endCursor: rows.length > 0 ? cursorOf(rows.at(-1)!) : null,
    hasNextPage: backward ? window.before != null : hasMore,
    hasPreviousPage: backward ? hasMore : window.after != null,
  }
}

/** Counts once, even if several fields need it. A plain number is exact. */
function counted(count: () => number | Total | Promise<number | Total>): () => Promise<Total> {
  const read = async () => {
    const total = await count()
    return typeof total === 'number' ? exactly(total) : total
  }
  let total: Promise<Total> | undefined
  return () => {
    total ??= read()
    return total
  }
}
