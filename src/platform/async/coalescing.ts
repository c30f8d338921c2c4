/**
 * Coalesces reads by id: ids requested in the same turn of the event loop share one read. Calls during a read join the next
 * one, which starts when that read ends, or after 5 ms, so a slow read delays no other caller.
 */
import DataLoader from 'dataloader'

const MAX_IDS = 100
const MAX_WAIT_MS = 5

export class Coalescer<Found> {
  /** by line: the loader of a read that has not started */
  readonly #next = new Map<string, DataLoader<string, Found | null>>()
  /** by line: the latest read under way */
  readonly #underWay = new Map<string, Promise<unknown>>()

  /**
   * Returns the row that `read` finds for `id`, or null. Calls with the same `line` share the first call's `read`, so equal
   * lines must mean equal reads. Rejects when `read` rejects.
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
    // includes ids that arrive in this turn
    const next = () => setImmediate(once)
    before.then(next, next)
  }
}
