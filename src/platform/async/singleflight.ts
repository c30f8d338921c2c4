/** Shares reads between concurrent callers. Each caller gets a read that started after its call. */

interface Line<T> {
  running: Promise<T>
  /** read for calls that arrived while `running` was under way */
  next: Promise<T> | null
}

export class Singleflight {
  readonly #lines = new Map<string, Line<unknown>>()

  /** Returns the result of `read`. Equal keys must mean equal reads. */
  read<T>(key: string, read: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(key) as Line<T> | undefined
    if (!line) return this.#begin(key, read)
    line.next ??= line.running.then(
      () => this.#begin(key, read),
      () => this.#begin(key, read),
    )
    return line.next
  }

  #begin<T>(key: string, read: () => Promise<T>): Promise<T> {
    const line: Line<T> = { running: read(), next: null }
    this.#lines.set(key, line)
    const done = () => {
      if (line.next === null) this.#lines.delete(key)
    }
    line.running.then(done, done)
    return line.running
  }
}
