/** An outlet that is read with `next()`, value by value: for plain graphql-js and other readers without a socket. */
import type { Batch, Ending, Outlet, Rendering } from './frames.ts'

/** Passes values on unchanged. */
const AS_VALUES: Rendering<never> = { key: 'values', render: async (values) => values.map(() => '') }

type Open<Value> = (rendering: Rendering<Value>, outlet: Outlet<Value>) => unknown

/** Begins immediately. `most`: number of waiting values from which the reader counts as slow. */
export function pull<Value>(most: number, open: Open<Value>): AsyncIterableIterator<Value> {
  const outlet = new PullOutlet<Value>(most)
  open(AS_VALUES, outlet)
  return outlet
}

class PullOutlet<Value> implements Outlet<Value>, AsyncIterableIterator<Value> {
  readonly #most: number
  readonly #values: Value[] = []
  #ending: Ending | null = null
  #leave: () => void = () => undefined
  /** wakes a waiting reader or the waiting group */
  #changed: (() => void)[] = []

  constructor(most: number) {
    this.#most = most
  }

  get full(): boolean {
    return this.#values.length >= this.#most
  }

  send(batch: Batch<Value>): void {
    for (const { value } of batch.frames) this.#values.push(value)
    this.#wake()
  }

  async drained(): Promise<void> {
    while (this.full && this.#ending === null) await this.#change()
  }

  end(how: Ending): void {
    this.#ending ??= how
    this.#wake()
  }

  onGone(leave: () => void): void {
    this.#leave = leave
  }

  async next(): Promise<IteratorResult<Value, undefined>> {
    while (this.#values.length === 0 && this.#ending === null) await this.#change()
    if (this.#values.length > 0) {
      const value = this.#values.shift()!
      this.#wake()
      return { done: false, value }
    }
    const ending = this.#ending!
    this.#ending = { complete: true }
    if ('error' in ending) throw ending.error
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Value, undefined>> {
    this.#values.length = 0
    this.#ending = { complete: true }
    this.#wake()
    this.#leave()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed.push(resolve))
  }

  #wake(): void {
    for (const changed of this.#changed.splice(0)) changed()
  }
}
