/**
 * Things to do that come while others like them are being done are done together, next: so that a transaction, which costs
 * much the same for one or for fifty, is shared by those who come at once. Nobody waits for company: who comes when nothing
 * is being done begins at once.
 */

/** Does all of these; answers for each, in their order. */
type DoAll<Item, Answer> = (items: readonly Item[]) => Promise<readonly Answer[]>

/**
 * Does `item` with others of the same `key`, by the `doAll` of the first of them. Rejects where that does. `waits`: called if it
 * only waits from now on, in the group that is next.
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
  /** the most that are done together; default 50 */
  maxBatch?: number
  /** of one key, how many groups are under way at once; default 1, so that the groups are as large as can be */
  concurrentBatches?: number
}

export function createBatcher({ maxBatch: most = 50, concurrentBatches: atOnce = 1 }: BatcherOptions = {}): Batch {
  /** only of keys in use */
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
