/**
 * Work that goes on for long is done in slices: between two of them the event loop serves everybody else. All who share
 * a pace share its slices.
 */

/** ms */
const SLICE_MS = 8

export class TimeSlice {
  #began = performance.now()
  #turn: Promise<void> | null = null

  /** The slice is used up: call `turn` before going on. */
  get isUsedUp(): boolean {
    return performance.now() - this.#began > SLICE_MS
  }

  /** Resolves when others have had their turn. */
  next(): Promise<void> {
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
