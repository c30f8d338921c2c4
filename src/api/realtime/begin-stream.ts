/** Begins a stream: takes a concurrency slot and acquires the log's topic before anything is read. */

import { takeSlot } from '../../domain/concurrency/concurrency-limit.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import type { Feed, TopicHandle } from './feed.ts'
import type { Stream } from './stream.ts'

/**
 * Acquires the topic of log `id` and lets `begin` read the stream's starting point. The stream releases topic and slot
 * when it ends. Throws errors of `begin`, and RATE_LIMITED when the workspace has too many streams.
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
