/** Lets a deployment begin a few requests in each turn of the event loop, so that a flood of it delays others by moments only. */

/** A request takes the door about 0.1 ms of CPU. More turns cost CPU, too, so a deployment that is alone begins more in one. */
const PER_TURN = { alone: 8, shared: 1 }
/** After a request of another deployment, a deployment is not alone for this time, in ms. */
const SHARED_MS = 100

/** of the whole door: who began the last request, and `performance.now()` of the last change */
let last: Turns | null = null
let changedAt = Number.NEGATIVE_INFINITY

export class Turns {
  #begun = 0
  readonly #waiting: (() => void)[] = []
  #isScheduled = false

  /** Calls `begin` immediately, or in a later turn after those that wait. */
  take(begin: () => void): void {
    if (last !== this) {
      if (last) changedAt = performance.now()
      last = this
    }
    if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => this.#turn())
    }
    if (this.#waiting.length === 0 && this.#begun < perTurn()) {
      this.#begun++
      begin()
    } else this.#waiting.push(begin)
  }

  #turn(): void {
    const begun = this.#waiting.splice(0, perTurn())
    this.#begun = begun.length
    for (const begin of begun) begin()
    this.#isScheduled = begun.length > 0
    if (this.#isScheduled) setImmediate(() => this.#turn())
  }
}

const perTurn = () => (performance.now() - changedAt < SHARED_MS ? PER_TURN.shared : PER_TURN.alone)
