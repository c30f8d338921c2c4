/** Reads tags for compiled GraphQL queries. */
import type { Window } from '../paging/paging.ts'
import { type CountedSlice, type Reading, readNewest } from '../query-engine/reading.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'

/** A compiled read of `windowTags`, and with `counts` of `countTags`. Role: viewer. Throws what readNewest() throws. */
export async function readTags(
  ctx: RequestContext,
  reading: Reading,
  window: Window,
  counts: boolean,
): Promise<CountedSlice> {
  requireRole(ctx, 'viewer')
  return readNewest(ctx, reading, 'Tag', window, counts)
}
