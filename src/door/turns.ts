/** Lets a deployment begin a few requests in each turn of the event loop, so that a flood of it delays others by moments only. */

/** A request takes the door about 0.1 ms of CPU. */
const PER_TURN = 2

export class Turns {
  #left = PER_TURN
  #waiting: (() => void)[] = []
  #isScheduled = false

  /** Calls `begin` immediately, or in a later turn after those that wait. */
  take(begin: () => void): void {
    if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => this.#turn())
    }
    if (this.#left > 0) {
      this.#left--
      begin()
    } else this.#waiting.push(begin)
  }

  #turn(): void {
    const begun = this.#waiting.splice(0, PER_TURN)
    this.#left = PER_TURN - begun.length
    for (const begin of begun) begin()
    this.#isScheduled = begun.length > 0
    if (this.#isScheduled) setImmediate(() => this.#turn())
  }
}
