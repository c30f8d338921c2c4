/** What the tests of a file share: it is started before the first one and closed after the last. */
import { afterAll, beforeAll } from 'vitest'

/** Starts something before the tests of a file and closes it after them. Returns a shallow copy of it. */
export function useStarted<T extends { close(): Promise<void> }>(start: () => Promise<T>): T {
  const started = {} as T
  beforeAll(async () => {
    Object.assign(started, await start())
  })
  afterAll(() => started.close?.())
  return started
}
