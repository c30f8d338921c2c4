/**
 * Splits long work into slices, between which the event loop serves others. All users of one instance share its
 * slices.
 */

const SLICE_MS = 8

export class TimeSlice {
  #began = performance.now()
  #turn: Promise<void> | null = null

  /** Whether the slice is used up; call `next` before continuing. */
  get isUsedUp(): boolean {
    return performance.now() - this.#began > SLICE_MS
  }

  /** Resolves after the event loop has served others. */
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
