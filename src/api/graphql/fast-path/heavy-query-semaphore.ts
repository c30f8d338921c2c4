/** Limits concurrent heavy documents per key, on the fast path and in Yoga. */

import { DomainError } from '../../../domain/errors/errors.ts'
import type { Actor } from '../../../domain/transaction/access.ts'
import { rateLimitKey } from '../../limits/admission.ts'
import type { KeyedSemaphore, Release } from '../../limits/keyed-semaphore.ts'
import type { RequestScope } from '../../limits/request-scope.ts'

/** Longer documents are heavy. An agent's document may not be longer. */
export const HEAVY_DOCUMENT_LENGTH = 2_048
/** Queries of a higher cost (cost.ts) are heavy. */
export const HEAVY_COST = 2_000

export class HeavyQuerySemaphore {
  readonly #semaphore: KeyedSemaphore | undefined
  /** release functions of running requests; null: the request got no slot */
  readonly #releases = new WeakMap<object, Release | null>()

  /** default: no limit */
  constructor(semaphore?: KeyedSemaphore) {
    this.#semaphore = semaphore
  }

  /** Waits for a slot, once per request. `request`: identifies the request. Throws RATE_LIMITED. */
  async acquire(request: object, actor: Actor, requestScope: RequestScope | undefined): Promise<void> {
    if (!this.#semaphore || this.#releases.get(request)) return
    const wasRefused = this.#releases.get(request) === null
    const release = wasRefused ? null : await this.#semaphore.acquire(rateLimitKey(actor), requestScope)
    this.#releases.set(request, release)
    if (!release)
      throw new DomainError(
        'RATE_LIMITED',
        'This key has too many heavy GraphQL documents waiting. Send fewer of them concurrently.',
        {
          retryAfterSeconds: 1,
        },
      )
    requestScope?.onEnd(release)
  }

  /** Frees the request's slot. */
  release(request: object): void {
    this.#releases.get(request)?.()
  }
}
