/** One timer for many reasons: it rings at the earliest time that was asked for. */
export class Alarm {
  readonly #ring: () => void
  #timer: { at: number; handle: NodeJS.Timeout } | null = null

  constructor(ring: () => void) {
    this.#ring = ring
  }

  /** In so many ms at the latest. */
  in(ms: number): void {
    const at = performance.now() + ms
    if (this.#timer && this.#timer.at <= at) return
    this.clear()
    const handle = setTimeout(() => {
      this.#timer = null
      this.#ring()
    }, ms)
    this.#timer = { at, handle }
  }

  clear(): void {
    if (this.#timer) clearTimeout(this.#timer.handle)
    this.#timer = null
  }
}
