// Restarts Postgres under a server in use; `npm run chaos` does it twenty times.
import { expect, test } from 'vitest'
import { restartUnderLoad } from '../support/restarts.ts'

test('a server survives restarts and crashes of Postgres under load, never answers 500, and reports each write correctly', async () => {
  const { answers, lost, written, survived } = await restartUnderLoad(3)
  expect(survived).toBe(3)
  expect(
    Object.keys(answers).filter((a) => !['200', '201', '503 UNAVAILABLE', '503 OUTCOME_UNKNOWN'].includes(a)),
  ).toEqual([])
  expect({ lost, written }).toEqual({ lost: [], written: [] })
}, 180_000)
