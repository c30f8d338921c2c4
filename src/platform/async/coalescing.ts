/**
 * Reads by id that are asked for at the same moment are one read, begun as soon as the process has looked at what has come in;
 * who asks while one is under way is of the next one, which begins when that has ended, or in 5 ms: so that one that is slow
 * is nobody else's.
 */
import DataLoader from 'dataloader'

/** The most ids in one read. */
const MAX_IDS = 100
/** ms */
const MAX_WAIT_MS = 5

export class Coalescer<Found> {
  /** of lines whose next read has not begun */
  readonly #next = new Map<string, DataLoader<string, Found | null>>()
  /** of lines, the read that was begun last, while it is under way */
  readonly #underWay = new Map<string, Promise<unknown>>()

  /**
   * What `read` finds of `id`, which is asked together with others of the same `line`; null: nothing. By the `read` of the first
   * of them: equal lines must mean equal reads. Rejects where that does.
   */
  load(
    line: string,
    id: string,
    read: (ids: readonly string[]) => Promise<ReadonlyMap<string, Found>>,
  ): Promise<Found | null> {
    let loader = this.#next.get(line)
    if (!loader) {
      const begin = async (ids: readonly string[]) => {
        this.#next.delete(line)
        const found = await this.#noted(line, read(ids))
        return ids.map((id) => found.get(id) ?? null)
      }
      const batchScheduleFn = (begin: () => void) => this.#soon(line, begin)
      loader = new DataLoader(begin, { cache: false, maxBatchSize: MAX_IDS, batchScheduleFn })
      this.#next.set(line, loader)
    }
    return loader.load(id)
  }

  #noted<T>(line: string, read: Promise<T>): Promise<T> {
    const over = () => {
      if (this.#underWay.get(line) === read) this.#underWay.delete(line)
    }
    this.#underWay.set(line, read)
    read.then(over, over)
    return read
  }

  #soon(line: string, begin: () => void): void {
    const before = this.#underWay.get(line)
    if (!before) {
      setImmediate(begin)
      return
    }
    let begun = false
    const once = () => {
      if (begun) return
      begun = true
      clearTimeout(timer)
      begin()
    }
    const timer = setTimeout(once, MAX_WAIT_MS)
    // who has come in until then is of it, too
    const next = () => setImmediate(once)
    before.then(next, next)
  }
}
