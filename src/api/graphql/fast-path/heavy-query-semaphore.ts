/** Heavy documents: of each key only some are worked on at once, whichever way their requests go. */

import { DomainError } from '../../../domain/errors/errors.ts'
import type { Actor } from '../../../domain/transaction/access.ts'
import { keyOf } from '../../limits/admission.ts'
import type { Gate, Leave } from '../../limits/keyed-semaphore.ts'
import type { Visit } from '../../limits/request-scope.ts'

/** Characters of a document from which on it is heavy; and the most that an agent's may have. */
export const HEAVY_TEXT = 2_048
/** What a query may cost (cost.ts) before it is heavy. */
export const HEAVY_COST = 2_000

export class HeavyTurns {
  readonly #gate: Gate | undefined
  /** of requests under way, how they make room again; null: there was none for them */
  readonly #inside = new WeakMap<object, Leave | null>()

  /** `gate`: default: as many at once as come */
  constructor(gate?: Gate) {
    this.#gate = gate
  }

  /** Waits for the turn of a request: once, however often it is called. `request`: what it is known by. Throws RATE_LIMITED. */
  async enter(request: object, actor: Actor, visit: Visit | undefined): Promise<void> {
    if (!this.#gate || this.#inside.get(request)) return
    const refused = this.#inside.get(request) === null
    const leave = refused ? null : await this.#gate.enter(keyOf(actor), visit)
    this.#inside.set(request, leave)
    if (!leave)
      throw new DomainError('RATE_LIMITED', 'Too many heavy GraphQL documents of this key wait. Send fewer at once.', {
        retryAfterSeconds: 1,
      })
    visit?.onEnd(leave)
  }

  /** Its work is done. */
  leave(request: object): void {
    this.#inside.get(request)?.()
  }
}
