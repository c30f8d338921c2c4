/** Counting restarts of agents: each once, however often it is reported, and one event a minute for each reason. */
import { expect, test } from 'vitest'
import { countRestarts, lastRestart, type StoredRestarts } from '../../src/domain/values/agent-restart.ts'

const at = (seconds: number) => new Date(Date.UTC(2026, 10, 27, 12, 0, seconds))
const report = (id: string, seconds: number, reason: 'CRASHED' | 'OUT_OF_MEMORY' = 'CRASHED') => ({
  ...{ id, at: at(seconds).toISOString(), reason, revisionId: 'r', exitCode: 7, signal: null },
  message: `ended at ${seconds}`,
})

/** Applies reports one after the other; each is [time of its arrival, reports]. */
function counted(...arrivals: [seconds: number, reports: ReturnType<typeof report>[]][]) {
  let stored: StoredRestarts | null = null
  const events = arrivals.flatMap(([seconds, reports]) => {
    const done = countRestarts(stored, reports, at(seconds))
    stored = done.restarts
    return done.events
  })
  const all = stored as StoredRestarts | null
  return { count: all?.count, last: lastRestart({ restarts: all }), events }
}

test('a repeated report counts once, and a late one is not the last', () => {
  const [one, two, three] = [report('1', 1), report('2', 2), report('3', 3)]
  const { count, last } = counted([5, [one]], [6, [one, three]], [7, [two]], [8, [one, two, three]])
  expect({ count, last }).toMatchObject({ count: 3, last: { at: at(3), exitCode: 7, message: 'ended at 3' } })
})

test('restarts for one reason are one event a minute, with their number', () => {
  const { count, events } = counted(
    [0, [report('1', 0)]],
    [10, [report('2', 10), report('3', 11)]],
    [12, [report('4', 12, 'OUT_OF_MEMORY')]],
    [60, [report('5', 60)]],
  )
  expect(count).toBe(5)
  expect(events).toEqual([
    { reason: 'CRASHED', message: 'ended at 0', revisionId: 'r', count: 1 },
    { reason: 'OUT_OF_MEMORY', message: 'ended at 12', revisionId: 'r', count: 1 },
    { reason: 'CRASHED', message: 'ended at 60', revisionId: 'r', count: 3 },
  ])
})

test('ids of the newest hundred restarts are kept, and an older report is ignored', () => {
  const many = Array.from({ length: 150 }, (_, index) => report(`${index}`, index))
  const { count } = counted([200, many], [201, many], [202, [report('149', 149)]])
  expect(count).toBe(150)
})
