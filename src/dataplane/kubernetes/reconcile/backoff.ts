/** Back-off for tries that concern one object each: repairs of drift, and requests that the API server refused. */
import { backoff } from '../../../platform/async/retry.ts'

export class ObjectBackoff {
  readonly #tries = new Map<string, { count: number; last: number }>()
  readonly #first: number
  readonly #longest: number
  readonly #calm: number

  /** In ms: the first and longest wait, and the time without a try after which an object starts again. */
  constructor(first: number, longest: number, calm = Number.POSITIVE_INFINITY) {
    this.#first = first
    this.#longest = longest
    this.#calm = calm
  }

  /** ms until the next try for an object may run. */
  wait(key: string, now = performance.now()): number {
    const before = this.#recent(key, now)
    return before ? Math.max(0, before.last + backoff(before.count - 1, this.#first, this.#longest) - now) : 0
  }

  add(key: string, now = performance.now()): void {
    this.#tries.set(key, { count: (this.#recent(key, now)?.count ?? 0) + 1, last: now })
  }

  /** Keys of objects with at least this many recent tries. */
  repeated(count: number, now = performance.now()): string[] {
    return [...this.#tries.keys()].filter((key) => (this.#recent(key, now)?.count ?? 0) >= count)
  }

  /** Forgets one object, or all. */
  forget(key?: string): void {
    if (key === undefined) this.#tries.clear()
    else this.#tries.delete(key)
  }

  #recent(key: string, now: number): { count: number; last: number } | null {
    const before = this.#tries.get(key)
    return before && now - before.last <= this.#calm ? before : null
  }
}
