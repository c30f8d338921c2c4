/** Hot reads of tags. */
import { requireRole } from '../context/access.ts'
import type { RequestContext } from '../context/context.ts'
import type { Window } from '../core/paging.ts'
import { type CountedSlice, type Reading, readNewest } from '../selection/reading.ts'

/** `windowTags` as a hot read, with `countTags` where `counts`. Role: viewer. Throws what readNewest() does. */
export async function readTags(
  ctx: RequestContext,
  reading: Reading,
  window: Window,
  counts: boolean,
): Promise<CountedSlice> {
  requireRole(ctx, 'viewer')
  return readNewest(ctx, reading, 'Tag', window, counts)
}
