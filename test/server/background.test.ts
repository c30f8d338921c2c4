/** Periodic jobs and the notifier of a server's worker. */
import { expect, test } from 'vitest'
import { type Jobs, startJobs } from '../../src/platform/async/jobs.ts'
import { createNotifier } from '../../src/platform/async/notifier.ts'
import type { Log } from '../../src/platform/log/log.ts'
import { createRecurringFailure } from '../../src/platform/log/recurring-failure.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const never = new AbortController().signal
const oneJob = (round: () => Promise<void>, every: number, log: Log): Jobs =>
  startJobs(log, [{ name: 'sweep', intervalSeconds: every, round }])

test('a sweep runs again after an error; the log has the error once while it stays the same, and a line when it is over', async () => {
  const said: object[] = []
  const log = (level: string) => (fields: object) => said.push({ level, ...fields })
  const outcomes = ['row 1 is odd', 'row 2 is odd', 'row 3 is odd', 'another', 'another', null, null, 'another']
  let rounds = 0
  const sweep = oneJob(
    async () => {
      const outcome = outcomes[rounds++] ?? null
      if (outcome !== null) throw new Error(outcome)
    },
    0.001,
    { ...quiet, info: log('info'), error: log('error') },
  )
  await expect.poll(() => rounds).toBeGreaterThan(outcomes.length)
  await sweep.stop()
  expect(said).toEqual([
    { level: 'error', job: 'sweep', err: new Error('row 1 is odd') },
    { level: 'error', job: 'sweep', err: new Error('another'), failures: 4, seconds: expect.any(Number) },
    { level: 'info', job: 'sweep', failures: 5, seconds: expect.any(Number) },
    { level: 'error', job: 'sweep', err: new Error('another') },
    { level: 'info', job: 'sweep', failures: 1, seconds: expect.any(Number) },
  ])
})

test('a failure that persists is logged again after five minutes, with its count', () => {
  const said: object[] = []
  let now = 0
  const log = { ...quiet, error: (fields: object) => said.push(fields) }
  const failure = createRecurringFailure(log, { job: 'sweep' }, 'a job failed', () => now)
  const error = new Error('no')
  for (; now < 600_000; now += 1000) failure.failed(error)
  expect(said).toEqual([
    { job: 'sweep', err: error },
    { job: 'sweep', err: error, failures: 301, seconds: 300 },
  ])
})

test('a sweep never overlaps itself, and stop() waits for the running round', async () => {
  let inFlight = 0
  let most = 0
  let finish: () => void = () => {}
  const sweep = oneJob(
    async () => {
      most = Math.max(most, ++inFlight)
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      inFlight--
    },
    0.001,
    quiet,
  )
  await expect.poll(() => inFlight).toBe(1)
  finish()
  await expect.poll(() => inFlight).toBe(1)
  const stopped = sweep.stop()
  expect(inFlight).toBe(1)
  finish()
  await stopped
  expect([inFlight, most]).toEqual([0, 1])
})

test('a listener’s notification wakes all its waiting callers and no others', async () => {
  const notifier = createNotifier()
  const woken: string[] = []
  const wait = (who: string, scope: string | null) =>
    notifier.wait(scope, notifier.mark(scope), 60_000, never).then(() => woken.push(who))
  const both = Promise.all([wait('a1', 'a'), wait('a2', 'a')])
  const others = Promise.all([wait('b', 'b'), wait('built-in', null)])
  notifier.notify('a')
  await both
  expect(woken).toEqual(['a1', 'a2'])
  notifier.notify(null)
  notifier.notify('b')
  await others
})

test('after a lost LISTEN connection all waiting callers look again', async () => {
  const notifier = createNotifier()
  const seen = notifier.mark('a')
  const waiting = [
    notifier.wait('b', notifier.mark('b'), 60_000, never),
    notifier.wait(null, notifier.mark(null), 60_000, never),
  ]
  notifier.notifyAll()
  await Promise.all(waiting)
  await notifier.wait('a', seen, 60_000, never)
})

test('a notification between the look and the wait is not lost', async () => {
  const notifier = createNotifier()
  const seen = notifier.mark(null)
  notifier.notify(null)
  await notifier.wait(null, seen, 60_000, never)
})

test('notifications of endless new keys use bounded memory, and none is lost', async () => {
  const notifier = createNotifier()
  const [rung, quiet] = [notifier.mark('rung'), notifier.mark('quiet')]
  notifier.notify('rung')
  for (let i = 0; i < 25_000; i++) notifier.notify(`key ${i}`)
  await notifier.wait('rung', rung, 60_000, never)
  // the key is no longer tracked: its caller must look again
  await notifier.wait('quiet', quiet, 60_000, never)
  const waiting = notifier.wait('rung', notifier.mark('rung'), 60_000, never)
  notifier.notify('rung')
  await waiting
})

test('a wait ends at its timeout, at its signal, and when the server stops', async () => {
  const notifier = createNotifier()
  await notifier.wait(null, notifier.mark(null), 1, never)
  const stop = new AbortController()
  const waiting = notifier.wait(null, notifier.mark(null), 60_000, stop.signal)
  stop.abort()
  await waiting
  await notifier.wait(null, notifier.mark(null), 60_000, stop.signal)
  const last = notifier.wait(null, notifier.mark(null), 60_000, never)
  expect(notifier.closed).toBe(false)
  notifier.close()
  await last
  await notifier.wait(null, notifier.mark(null), 60_000, never)
  expect(notifier.closed).toBe(true)
})
