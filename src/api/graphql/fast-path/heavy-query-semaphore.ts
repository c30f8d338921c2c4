/** Heavy documents: of each key only some are worked on at once, whichever way their requests go. */

import { DomainError } from '../../../domain/errors/errors.ts'
import type { Actor } from '../../../domain/transaction/access.ts'
import { rateLimitKey } from '../../limits/admission.ts'
import type { KeyedSemaphore, Release } from '../../limits/keyed-semaphore.ts'
import type { RequestScope } from '../../limits/request-scope.ts'

/** Characters of a document from which on it is heavy; and the most that an agent's may have. */
export const HEAVY_DOCUMENT_LENGTH = 2_048
/** What a query may cost (cost.ts) before it is heavy. */
export const HEAVY_COST = 2_000

export class HeavyQuerySemaphore {
  readonly #semaphore: KeyedSemaphore | undefined
  /** of requests under way, how they make room again; null: there was none for them */
  readonly #releases = new WeakMap<object, Release | null>()

  /** `gate`: default: as many at once as come */
  constructor(semaphore?: KeyedSemaphore) {
    this.#semaphore = semaphore
  }

  /** Waits for the turn of a request: once, however often it is called. `request`: what it is known by. Throws RATE_LIMITED. */
  async acquire(request: object, actor: Actor, requestScope: RequestScope | undefined): Promise<void> {
    if (!this.#semaphore || this.#releases.get(request)) return
    const wasRefused = this.#releases.get(request) === null
    const release = wasRefused ? null : await this.#semaphore.acquire(rateLimitKey(actor), requestScope)
    this.#releases.set(request, release)
    if (!release)
      throw new DomainError('RATE_LIMITED', 'Too many heavy GraphQL documents of this key wait. Send fewer at once.', {
        retryAfterSeconds: 1,
      })
    requestScope?.onEnd(release)
  }

  /** Its work is done. */
  release(request: object): void {
    this.#releases.get(request)?.()
  }
}
