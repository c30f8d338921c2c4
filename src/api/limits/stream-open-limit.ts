/**
 * Limits how many streams open concurrently. Opening a stream costs much more than keeping it open, and other requests must
 * be served in between.
 */
import { DomainError } from '../../domain/errors/errors.ts'
import { KeyedSemaphore } from './keyed-semaphore.ts'
import type { RequestScope } from './request-scope.ts'

/** For this server. Opening waits for the database, so one at a time would leave the CPU idle. */
const MAX_CONCURRENT = 8
const MAX_QUEUED = 20_000
const QUEUE_TIMEOUT_MS = 30_000

export class StreamOpenLimit {
  readonly #semaphore = new KeyedSemaphore({
    maxConcurrent: MAX_CONCURRENT,
    maxQueued: MAX_QUEUED,
    queueTimeoutMs: QUEUE_TIMEOUT_MS,
  })

  /**
   * Waits for a slot, which the request's end releases. Throws UNAVAILABLE. Call it after the client has sent its whole
   * request, so no slot is held while waiting for the client.
   */
  async acquire(requestScope: RequestScope): Promise<void> {
    const release = await this.#semaphore.acquire('', requestScope)
    if (!release)
      throw new DomainError('UNAVAILABLE', 'The server is opening too many streams now. Try again.', {
        retryAfterSeconds: 1,
      })
    requestScope.onEnd(release)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
