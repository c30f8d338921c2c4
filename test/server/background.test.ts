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

test('news of a listener wakes everybody who waits for it, and nobody else', async () => {
  const bell = createWakeup()
  const woken: string[] = []
  const wait = (who: string, scope: string | null) =>
    bell.wait(scope, bell.mark(scope), 60_000, never).then(() => woken.push(who))
  const both = Promise.all([wait('a1', 'a'), wait('a2', 'a')])
  const others = Promise.all([wait('b', 'b'), wait('built-in', null)])
  bell.ring('a')
  await both
  expect(woken).toEqual(['a1', 'a2'])
  bell.ring(null)
  bell.ring('b')
  await others
})

test('after a time in which nothing was heard everybody looks again', async () => {
  const bell = createWakeup()
  const seen = bell.mark('a')
  const waiting = [bell.wait('b', bell.mark('b'), 60_000, never), bell.wait(null, bell.mark(null), 60_000, never)]
  bell.ringAll()
  await Promise.all(waiting)
  await bell.wait('a', seen, 60_000, never)
})

test('news that comes between the look and the wait is not lost', async () => {
  const bell = createWakeup()
  const seen = bell.mark(null)
  bell.ring(null)
  await bell.wait(null, seen, 60_000, never)
})

test('news of ever new keys takes no ever growing memory, and still none is lost', async () => {
  const bell = createWakeup()
  const [rung, quiet] = [bell.mark('rung'), bell.mark('quiet')]
  bell.ring('rung')
  for (let i = 0; i < 25_000; i++) bell.ring(`key ${i}`)
  await bell.wait('rung', rung, 60_000, never)
  // too many were heard of to tell: it is worth a look
  await bell.wait('quiet', quiet, 60_000, never)
  const waiting = bell.wait('rung', bell.mark('rung'), 60_000, never)
  bell.ring('rung')
  await waiting
})

test('whoever waits goes on after a while, when it is told to stop, and when the server stops', async () => {
  const bell = createWakeup()
  await bell.wait(null, bell.mark(null), 1, never)
  const stop = new AbortController()
  const waiting = bell.wait(null, bell.mark(null), 60_000, stop.signal)
  stop.abort()
  await waiting
  await bell.wait(null, bell.mark(null), 60_000, stop.signal)
  const last = bell.wait(null, bell.mark(null), 60_000, never)
  expect(bell.closed).toBe(false)
  bell.close()
  await last
  await bell.wait(null, bell.mark(null), 60_000, never)
  expect(bell.closed).toBe(true)
})
