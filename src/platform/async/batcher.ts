/**
 * Batches calls with the same key: calls that arrive while a batch runs join the next one. Many callers then share one
 * transaction or one read, which costs about the same for one item as for fifty.
 */
import { setImmediate as turn } from 'node:timers/promises'

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
  /** A batch begins after this time even if an earlier one still runs. Default: it waits for the earlier one. */
  maxWaitMs?: number
  /** Each batch also takes the calls of its turn of the event loop. Default: the first call runs immediately and alone. */
  gathersTurn?: boolean
}

export function createBatcher({ maxBatch = 50, maxWaitMs, gathersTurn = false }: BatcherOptions = {}): Batch {
  const queues = new Map<string, Queue>()

  async function run(key: string, queue: Queue): Promise<void> {
    queue.running++
    while (queue.waiting.length > 0) {
      if (gathersTurn) await turn()
      const batch = queue.waiting.splice(0, maxBatch)
      try {
        const answers = await batch[0]?.doAll(batch.map(({ item }) => item))
        for (const [i, { resolve }] of batch.entries()) resolve(answers![i])
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queue.running--
    if (queue.running === 0) queues.delete(key)
  }

  return <Item, Answer>(key: string, item: Item, doAll: DoAll<Item, Answer>, waits?: () => void) =>
    new Promise<Answer>((resolve, reject) => {
      const queue = queues.get(key) ?? { running: 0, waiting: [] }
      queues.set(key, queue)
      const call = { item, doAll, resolve, reject } as unknown as Waiting
      queue.waiting.push(call)
      if (queue.running === 0) {
        void run(key, queue)
        return
      }
      if (queue.waiting.length <= maxBatch) waits?.()
      const isFirstOfBatch = queue.waiting.length % maxBatch === 1
      if (maxWaitMs !== undefined && isFirstOfBatch)
        setTimeout(() => queue.waiting.includes(call) && void run(key, queue), maxWaitMs)
    })
}

/**
 * Returns the result of `read`, which concurrent callers of a key share. Each caller gets a read that began after its call.
 * Equal keys must mean equal reads.
 */
export type Singleflight = <T>(key: string, read: () => Promise<T>) => Promise<T>

export function createSingleflight(): Singleflight {
  const batch = createBatcher({ maxBatch: Number.POSITIVE_INFINITY })
  return (key, read) =>
    batch(key, null, async (callers) => {
      const found = await read()
      return callers.map(() => found)
    })
}
