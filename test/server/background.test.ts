/** The small clocks of a server: the sweep and the door bell of its worker. */
import { expect, test } from 'vitest'
import { startSweep } from '../../src/server/sweep.ts'
import { createWakeup } from '../../src/server/wakeup.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const never = new AbortController().signal

test('a sweep comes again after an error, and says what it was', async () => {
  const errors: object[] = []
  let rounds = 0
  const sweep = startSweep(
    async () => {
      rounds++
      throw new Error(`round ${rounds}`)
    },
    0.01,
    { ...quiet, error: (fields) => errors.push(fields) },
  )
  await expect.poll(() => errors.length).toBeGreaterThan(2)
  await sweep.stop()
  expect(errors[0]).toMatchObject({ err: { message: 'round 1' } })
})

test('a sweep never overlaps itself, and its end waits for the round under way', async () => {
  let underWay = 0
  let most = 0
  let finish: () => void = () => {}
  const sweep = startSweep(
    async () => {
      most = Math.max(most, ++underWay)
      await new Promise<void>((resolve) => {
        finish = resolve
      })
      underWay--
    },
    0.001,
    quiet,
  )
  await expect.poll(() => underWay).toBe(1)
  finish()
  await expect.poll(() => underWay).toBe(1)
  const stopped = sweep.stop()
  expect(underWay).toBe(1)
  finish()
  await stopped
  expect([underWay, most]).toEqual([0, 1])
})

test('a ring wakes everybody who waits', async () => {
  const bell = createWakeup()
  const both = Promise.all([bell.wait(60_000, never), bell.wait(60_000, never)])
  bell.ring()
  await both
})

test('a ring that nobody waited for is not lost', async () => {
  const bell = createWakeup()
  bell.ring()
  await bell.wait(60_000, never)
})

test('whoever waits goes on after a while, or when it is told to stop', async () => {
  const bell = createWakeup()
  await bell.wait(1, never)
  const stop = new AbortController()
  const waiting = bell.wait(60_000, stop.signal)
  stop.abort()
  await waiting
  await bell.wait(60_000, stop.signal)
})
