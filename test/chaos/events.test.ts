// The short form of `npm run chaos -- events`: two servers, subscribers of every kind, each fault once. A slow machine
// makes it longer, not different.
import { expect, test } from 'vitest'
import { print, totalOf } from './events/report.ts'
import { run } from './events/run.ts'

const EVENTS = 600

test('no subscriber loses, doubles or reorders an event while servers, connections and Postgres break', async () => {
  const report = await run({
    seed: Date.now() % 1_000_000,
    events: EVENTS,
    pace: 4_000,
    atMost: 220_000,
    faults: [
      'kill -9 of a server',
      'SIGTERM to a server',
      'a server paused past its lease',
      'connections cut',
      'Postgres restarted',
      'LISTEN cut',
    ],
    writers: { called: 1, moved: 3, built: 1 },
    lease: 2,
    awhile: 500,
    revokedWithin: 30_000,
    waiters: 3,
    each: 1,
  })
  const { delivered, ...faults } = totalOf(report)
  const asItMustBe = { lost: 0, doubled: 0, outOfOrder: 0, wrong: 0 }
  if (report.wrong.length > 0 || Object.values(faults).some((count) => count > 0)) print(report)
  expect({ ...faults, others: report.wrong }).toEqual({ ...asItMustBe, others: [] })
  expect(report.written).toBeGreaterThanOrEqual(EVENTS)
  expect(delivered).toBeGreaterThan(report.written)
}, 300_000)
