/** Lists of the API, read page by page. */
import type { Command, OptionValues } from '@commander-js/extra-typings'
import { wholeNumber } from './call.ts'

const PAGE_SIZE = 100

interface Page<T> {
  resources: T[]
}

export const addLimitOption = <A extends unknown[], O extends OptionValues>(command: Command<A, O>) =>
  command.option('--limit <n>', 'the most to list, newest first', wholeNumber(1, 10_000), PAGE_SIZE) as Command<
    A,
    O & { limit: number }
  >

/** Reads the newest `limit` resources. `load` calls an operation with this query. */
export async function readPages<T>(
  limit: number,
  load: (query: { limit: number; offset: number }) => Promise<{ data?: Page<T> }>,
): Promise<T[]> {
  const all: T[] = []
  while (all.length < limit) {
    const size = Math.min(PAGE_SIZE, limit - all.length)
    const { resources } = (await load({ limit: size, offset: all.length })).data!
    all.push(...resources)
    if (resources.length < size) break
  }
  return all
}
