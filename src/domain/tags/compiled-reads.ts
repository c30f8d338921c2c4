/** Hot reads of tags. */

import type { Window } from '../paging/paging.ts'
import { type CountedSlice, type Reading, readNewest } from '../query-engine/reading.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'

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
