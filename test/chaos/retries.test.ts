// The short form of `npm run chaos -- retries`: each write is sent three times while answers get lost and a server is
// killed.
import { expect, test } from 'vitest'
import { print } from './retries/retries.ts'
import { storm } from './retries/storm.ts'

test('a write that is sent three times with its key, over two servers of which one is killed, takes effect once and gets equal answers', async () => {
  const report = await storm({
    seed: Date.now() % 1_000_000,
    writes: 42,
    atOnce: 6,
    deployments: 5,
    faults: ['kill -9 of a server'],
  })
  const { unlike, doubled, missing } = report
  if (unlike.length + doubled.length + missing.length > 0) print(report)
  expect({ unlike, doubled, missing }).toEqual({ unlike: [], doubled: [], missing: [] })
  expect(Object.keys(report.requests)).toEqual(expect.arrayContaining(['cut', '200 repeated']))
}, 120_000)
