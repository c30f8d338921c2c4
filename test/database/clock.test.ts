/** A process with a wrong clock uses the database's time. */
import { expect, test, vi } from 'vitest'
import { type DatabaseClock, databaseClock } from '../../src/platform/postgres/clock.ts'
import { useDatabase } from '../support/database.ts'

const database = useDatabase()
const told: string[] = []
const log = { info: () => {}, warn: (_: object, message: string) => void told.push(message), error: () => {} }

test.each([
  ['is right', 0],
  ['is 11 minutes ahead', 11 * 60_000],
  ['is an hour behind', -3_600_000],
])('a clock that %s tells the time of the database', async (_what, ahead) => {
  told.length = 0
  const truth = Date.now()
  vi.useFakeTimers({ toFake: ['Date'], now: truth + ahead })
  let clock: DatabaseClock | null = null
  try {
    clock = await databaseClock(database.url, log)
    // the database is on this machine, so the delay is far smaller than the tested differences
    expect(Math.abs(clock.now().getTime() - truth)).toBeLessThan(30_000)
    expect(told).toHaveLength(ahead === 0 ? 0 : 1)
  } finally {
    clock?.stop()
    vi.useRealTimers()
  }
})

test.each([
  ['put back by two hours', -2 * 3_600_000],
  ['put forward by a day', 86_400_000],
])('a clock that is %s while the server runs changes nothing, from the first moment on', async (_what, by) => {
  const truth = Date.now()
  const clock = await databaseClock(database.url, log)
  told.length = 0
  vi.useFakeTimers({ toFake: ['Date'], now: truth + by })
  try {
    expect(Math.abs(clock.now().getTime() - truth)).toBeLessThan(30_000)
    await vi.waitFor(() => expect(told, 'the database was asked at once').toHaveLength(1))
    expect(Math.abs(clock.now().getTime() - truth)).toBeLessThan(30_000)
  } finally {
    clock.stop()
    vi.useRealTimers()
  }
})

test('an unavailable database leaves the clock unchanged', async () => {
  const clock = await databaseClock('postgresql://nobody@127.0.0.1:1/none', log)
  expect(Math.abs(clock.now().getTime() - Date.now())).toBeLessThan(5_000)
  clock.stop()
})
