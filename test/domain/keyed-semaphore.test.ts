/** The keyed semaphore: slots per key, order of the queue, timeouts, and load shedding. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { LoadMonitor } from '../../src/api/limits/load-shedding.ts'
import { KeyedSemaphore } from '../../src/domain/concurrency/keyed-semaphore.ts'

/** The values of the promises that have resolved. */
async function settled<T>(promises: Promise<T>[]): Promise<T[]> {
  const done: T[] = []
  for (const promise of promises) void promise.then((value) => done.push(value))
  await new Promise(setImmediate)
  return done
}

// runs first, because the semaphores of other tests have timers, too
test('one timer serves all slots, even after the CPU was busy', async () => {
  const semaphore = new KeyedSemaphore({ maxConcurrent: 10, maxQueued: 0, slotTimeoutMs: 30 })
  /** Timers of the semaphore only. The test runner has its own. */
  let timers = 0
  const real = globalThis.setTimeout
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    if (work.name !== '#expire') return real(work, ms)
    timers++
    return real(() => {
      timers--
      work()
    }, ms)
  }) as never)
  onTestFinished(() => spy.mockRestore())
  for (let i = 0; i < 5; i++) {
    expect(await semaphore.acquire('a')).not.toBeNull()
    const end = performance.now() + 80
    while (performance.now() < end);
    await new Promise((resolve) => real(resolve, 5))
    expect(timers).toBe(1)
  }
})

test('calls above the limit wait in order, and each starts when a slot is released', async () => {
  const semaphore = new KeyedSemaphore({ maxConcurrent: 2, maxQueued: 10 })
  const order: number[] = []
  const acquired = [1, 2, 3, 4].map(async (n) => {
    const release = await semaphore.acquire('a')
    order.push(n)
    return release!
  })
  expect((await settled(acquired)).length).toBe(2)
  ;(await acquired[1]!)()
  expect((await settled(acquired)).length).toBe(3)
  ;(await acquired[0]!)()
  await Promise.all(acquired)
  expect(order).toEqual([1, 2, 3, 4])
})

test('a slot that is released twice admits only one call', async () => {
  const semaphore = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10 })
  const release = (await semaphore.acquire('a'))!
  const waiting = [semaphore.acquire('a'), semaphore.acquire('a')]
  release()
  release()
  expect((await settled(waiting)).length).toBe(1)
})

test('a key that uses all its slots does not block another key', async () => {
  const semaphore = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 0 })
  await semaphore.acquire('a')
  expect(await semaphore.acquire('a')).toBeNull()
  expect(await semaphore.acquire('b')).not.toBeNull()
})

test('a call whose client disconnected leaves the queue and takes no slot', async () => {
  const semaphore = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10 })
  const release = (await semaphore.acquire('a'))!
  const gone = new AbortController()
  const first = semaphore.acquire('a', { gone: gone.signal })
  const second = semaphore.acquire('a')
  gone.abort()
  expect(await first).toBeNull()
  release()
  expect(await second).not.toBeNull()
  expect(await semaphore.acquire('a', { gone: AbortSignal.abort() })).toBeNull()
})

test('a queued call is rejected after the queue timeout', async () => {
  vi.useFakeTimers()
  try {
    const semaphore = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10, queueTimeoutMs: 5_000 })
    await semaphore.acquire('a')
    const waiting = semaphore.acquire('a')
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await waiting).toBeNull()
  } finally {
    vi.useRealTimers()
  }
})

test('a call that runs longer than the slot timeout frees its slot', async () => {
  vi.useFakeTimers()
  try {
    const semaphore = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10, slotTimeoutMs: 250 })
    const slow = (await semaphore.acquire('a'))!
    const next = semaphore.acquire('a')
    await vi.advanceTimersByTimeAsync(250)
    const release = await next
    expect(release).not.toBeNull()
    // its slot has already expired
    slow()
    const third = semaphore.acquire('a')
    release!()
    expect(await third).not.toBeNull()
  } finally {
    vi.useRealTimers()
  }
})

test('a limit of 0 admits every call', async () => {
  const semaphore = new KeyedSemaphore({ maxConcurrent: 0, maxQueued: 0 })
  for (let i = 0; i < 100; i++) expect(await semaphore.acquire('a')).not.toBeNull()
})

test('a long call keeps its slot while the CPU is busy', async () => {
  const semaphore = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10, slotTimeoutMs: 10 })
  await semaphore.acquire('a')
  const next = semaphore.acquire('a')
  for (const until = performance.now() + 60; performance.now() < until; );
  // the timer that would free the slot is late
  expect(await settled([next])).toEqual([])
  expect(await next).not.toBeNull()
})

test('each key has one slot while keys compete, and all its slots afterwards', async () => {
  let high = false
  const semaphore = new KeyedSemaphore({
    maxConcurrent: 3,
    maxQueued: 10,
    load: {
      recordCall: () => undefined,
      get keysCompete() {
        return high
      },
    },
  })
  const first = await Promise.all([semaphore.acquire('a'), semaphore.acquire('a'), semaphore.acquire('a')])
  const acquired: number[] = []
  const later = [1, 2, 3].map(async (i) => {
    const release = await semaphore.acquire('a')
    acquired.push(i)
    return release!
  })
  high = true
  first[0]!()
  first[1]!()
  await new Promise(setImmediate)
  // one of the first calls still holds its slot
  expect(acquired).toEqual([])
  expect(await semaphore.acquire('b')).not.toBeNull()
  first[2]!()
  await new Promise(setImmediate)
  expect(acquired).toEqual([1])
  high = false
  ;(await later[0]!)()
  await new Promise(setImmediate)
  expect(acquired).toEqual([1, 2, 3])
})

test('keys compete when the event loop is busy and more than one key calls', async () => {
  const monitor = new LoadMonitor()
  monitor.recordCall('a')
  const busy = () => {
    for (const until = performance.now() + 300; performance.now() < until; );
  }
  busy()
  await new Promise(setImmediate)
  expect(monitor.keysCompete).toBe(false)
  monitor.recordCall('b')
  busy()
  await new Promise(setImmediate)
  expect(monitor.keysCompete).toBe(true)
})
