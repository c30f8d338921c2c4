/** How each stream begins: counted, and with its log held, before anything is read. */

import { takeSlot } from '../../domain/concurrency/concurrency-limit.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import type { Feed, TopicHandle } from './feed.ts'
import type { Stream } from './stream.ts'

/**
 * Holds the log `id`, reads with `begin` what the stream starts from, and answers its stream, which releases both when it ends.
 * Throws what `begin` throws, and RATE_LIMITED when the workspace has too many streams.
 */
export async function beginStream<Item, Scope, Value>(
  ctx: RequestContext,
  feed: Feed<Item, Scope>,
  id: string,
  begin: (hold: TopicHandle<Item>) => Promise<Stream<Value>>,
): Promise<Stream<Value>> {
  const leave = takeSlot(ctx, 'streams')
  const hold = feed.acquire(id)
  hold.onRelease(leave)
  try {
    return await begin(hold)
  } catch (error) {
    hold.release()
    throw error
  }
}
