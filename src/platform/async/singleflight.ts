/** Many who ask the same at once are answered by few reads, and each by one that began after it had asked. */

interface Line<T> {
  running: Promise<T>
  /** of those who came while that was running */
  next: Promise<T> | null
}

export class Singleflight {
  readonly #lines = new Map<string, Line<unknown>>()

  /** What `read` gives; equal keys must mean equal reads. */
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
