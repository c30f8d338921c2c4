/**
 * Streams are begun a few at a time, however many are asked for at once: beginning one costs a lot more than having one, and
 * between two of them everybody else is served.
 */
import { DomainError } from '../../domain/errors/errors.ts'
import { KeyedSemaphore } from './keyed-semaphore.ts'
import type { RequestScope } from './request-scope.ts'

/** At a time, on this server. Each waits for the database, so that one at a time would not use the CPU. */
const MAX_CONCURRENT = 8
const MAX_QUEUED = 20_000
/** ms */
const QUEUE_TIMEOUT_MS = 30_000

export class StreamOpenLimit {
  readonly #semaphore = new KeyedSemaphore({
    maxConcurrent: MAX_CONCURRENT,
    maxQueued: MAX_QUEUED,
    queueTimeoutMs: QUEUE_TIMEOUT_MS,
  })

  /** Waits until it is its turn, which is over when the requestScope is. Throws UNAVAILABLE. To be called when the client has sent all: nobody waits for him then. */
  async acquire(requestScope: RequestScope): Promise<void> {
    const release = await this.#semaphore.acquire('', requestScope)
    if (!release)
      throw new DomainError('UNAVAILABLE', 'Too many streams are being opened on this server. Try again.', {
        retryAfterSeconds: 1,
      })
    requestScope.onEnd(release)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
