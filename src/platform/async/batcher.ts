/**
 * Batches calls with the same key: calls that arrive while a batch runs join the next one. Callers share one transaction,
 * which costs about the same for one item as for fifty. The first call runs immediately.
 */

/** Processes all items. Returns one result for each, in their order. */
type DoAll<Item, Answer> = (items: readonly Item[]) => Promise<readonly Answer[]>

/**
 * Processes `item` in a batch of its `key`, with the `doAll` of the batch's first call. Rejects when `doAll` rejects. Calls
 * `waits` when the item has to wait and fits into the next batch.
 */
export type Batch = <Item, Answer>(
  key: string,
  item: Item,
  doAll: DoAll<Item, Answer>,
  waits?: () => void,
) => Promise<Answer>

interface Waiting {
  item: unknown
  doAll: DoAll<unknown, unknown>
  resolve(answer: unknown): void
  reject(error: unknown): void
}

interface Queue {
  running: number
  waiting: Waiting[]
}

export interface BatcherOptions {
  /** items in one batch; default 50 */
  maxBatch?: number
  /** concurrent batches of one key; default 1, which makes batches as large as possible */
  concurrentBatches?: number
}

export function createBatcher({ maxBatch: most = 50, concurrentBatches: atOnce = 1 }: BatcherOptions = {}): Batch {
  const lines = new Map<string, Queue>()

  async function run(key: string, line: Queue): Promise<void> {
    line.running++
    while (line.waiting.length > 0) {
      const group = line.waiting.splice(0, most)
      try {
        const answers = await group[0]!.doAll(group.map(({ item }) => item))
        for (const [i, { resolve }] of group.entries()) resolve(answers[i])
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    line.running--
    if (line.running === 0) lines.delete(key)
  }

  return <Item, Answer>(key: string, item: Item, doAll: DoAll<Item, Answer>, waits?: () => void) =>
    new Promise<Answer>((resolve, reject) => {
      const line = lines.get(key) ?? { running: 0, waiting: [] }
      lines.set(key, line)
      line.waiting.push({ item, doAll, resolve, reject } as unknown as Waiting)
      if (line.running < atOnce) void run(key, line)
      else if (line.waiting.length <= most) waits?.()
    })
}
