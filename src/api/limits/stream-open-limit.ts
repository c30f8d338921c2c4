/**
 * Streams are begun a few at a time, however many are asked for at once: beginning one costs a lot more than having one, and
 * between two of them everybody else is served.
 */
import { DomainError } from '../../domain/errors/errors.ts'
import { Gate } from './keyed-semaphore.ts'
import type { Visit } from './request-scope.ts'

/** At a time, on this server. Each waits for the database, so that one at a time would not use the CPU. */
const AT_ONCE = 8
const QUEUE = 20_000
/** ms */
const LONGEST_WAIT = 30_000

export class Openings {
  readonly #gate = new Gate({ most: AT_ONCE, queue: QUEUE, longestWait: LONGEST_WAIT })

  /** Waits until it is its turn, which is over when the visit is. Throws UNAVAILABLE. To be called when the client has sent all: nobody waits for him then. */
  async enter(visit: Visit): Promise<void> {
    const leave = await this.#gate.enter('', visit)
    if (!leave)
      throw new DomainError('UNAVAILABLE', 'Too many streams are being opened on this server. Try again.', {
        retryAfterSeconds: 1,
      })
    visit.onEnd(leave)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
