/**
 * Work that goes on for long is done in slices: between two of them the event loop serves everybody else. All who share
 * a pace share its slices.
 */

/** ms */
const SLICE = 8

export class Pace {
  #began = performance.now()
  #turn: Promise<void> | null = null

  /** The slice is used up: call `turn` before going on. */
  get due(): boolean {
    return performance.now() - this.#began > SLICE
  }

  /** Resolves when others have had their turn. */
  turn(): Promise<void> {
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#turn = null
        this.#began = performance.now()
        resolve()
      })
    })
    return this.#turn
  }
}
