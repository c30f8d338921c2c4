/** Gates: how many at once, in which order, and when it is too much. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { KeyedSemaphore } from '../../src/api/limits/keyed-semaphore.ts'
import { LoadMonitor } from '../../src/api/limits/load-shedding.ts'

/** What has come to an end by now. */
async function settled<T>(promises: Promise<T>[]): Promise<T[]> {
  const done: T[] = []
  for (const promise of promises) void promise.then((value) => done.push(value))
  await new Promise(setImmediate)
  return done
}

// first: the gates of the others have timers, too
test('however often the CPU was short, one timer looks after all turns', async () => {
  const gate = new KeyedSemaphore({ maxConcurrent: 10, maxQueued: 0, slotTimeoutMs: 30 })
  /** of the gate: whoever runs the test has timers, too */
  let under = 0
  const real = globalThis.setTimeout
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
    if (work.name !== '#expire') return real(work, ms)
    under++
    return real(() => {
      under--
      work()
    }, ms)
  }) as never)
  onTestFinished(() => spy.mockRestore())
  for (let i = 0; i < 5; i++) {
    expect(await gate.acquire('a')).not.toBeNull()
    const end = performance.now() + 80
    while (performance.now() < end);
    await new Promise((resolve) => real(resolve, 5))
    expect(under).toBe(1)
  }
})

test('so many come in at once, the others in their order, each when one leaves', async () => {
  const gate = new KeyedSemaphore({ maxConcurrent: 2, maxQueued: 10 })
  const order: number[] = []
  const entered = [1, 2, 3, 4].map(async (n) => {
    const leave = await gate.acquire('a')
    order.push(n)
    return leave!
  })
  expect((await settled(entered)).length).toBe(2)
  ;(await entered[1]!)()
  expect((await settled(entered)).length).toBe(3)
  ;(await entered[0]!)()
  await Promise.all(entered)
  expect(order).toEqual([1, 2, 3, 4])
})

test('leaving twice lets only one in', async () => {
  const gate = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10 })
  const leave = (await gate.acquire('a'))!
  const waiting = [gate.acquire('a'), gate.acquire('a')]
  leave()
  leave()
  expect((await settled(waiting)).length).toBe(1)
})

test('one key that fills it keeps no other key out', async () => {
  const gate = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 0 })
  await gate.acquire('a')
  expect(await gate.acquire('a')).toBeNull()
  expect(await gate.acquire('b')).not.toBeNull()
})

test('whoever is gone does not wait any more, and takes nobody’s place', async () => {
  const gate = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10 })
  const leave = (await gate.acquire('a'))!
  const gone = new AbortController()
  const first = gate.acquire('a', gone.signal)
  const second = gate.acquire('a')
  gone.abort()
  expect(await first).toBeNull()
  leave()
  expect(await second).not.toBeNull()
  expect(await gate.acquire('a', AbortSignal.abort())).toBeNull()
})

test('nobody waits longer than is allowed', async () => {
  vi.useFakeTimers()
  try {
    const gate = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10, queueTimeoutMs: 5_000 })
    await gate.acquire('a')
    const waiting = gate.acquire('a')
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await waiting).toBeNull()
  } finally {
    vi.useRealTimers()
  }
})

test('whoever stays longer than its turn lasts makes room for the next', async () => {
  vi.useFakeTimers()
  try {
    const gate = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10, slotTimeoutMs: 250 })
    const slow = (await gate.acquire('a'))!
    const next = gate.acquire('a')
    await vi.advanceTimersByTimeAsync(250)
    const leave = await next
    expect(leave).not.toBeNull()
    // it has made room already
    slow()
    const third = gate.acquire('a')
    leave!()
    expect(await third).not.toBeNull()
  } finally {
    vi.useRealTimers()
  }
})

test('0 lets everybody in', async () => {
  const gate = new KeyedSemaphore({ maxConcurrent: 0, maxQueued: 0 })
  for (let i = 0; i < 100; i++) expect(await gate.acquire('a')).not.toBeNull()
})

test('where the CPU is short nobody makes room by staying long', async () => {
  const gate = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: 10, slotTimeoutMs: 10 })
  await gate.acquire('a')
  const next = gate.acquire('a')
  for (const until = performance.now() + 60; performance.now() < until; );
  // the timer that would have let it in is late
  expect(await settled([next])).toEqual([])
  expect(await next).not.toBeNull()
})

test('while keys are in each other’s way each has one at once, and as many as before when they are not', async () => {
  let high = false
  const gate = new KeyedSemaphore({
    maxConcurrent: 3,
    maxQueued: 10,
    load: {
      recordCall: () => undefined,
      get keysCompete() {
        return high
      },
    },
  })
  const first = await Promise.all([gate.acquire('a'), gate.acquire('a'), gate.acquire('a')])
  const entered: number[] = []
  const later = [1, 2, 3].map(async (i) => {
    const leave = await gate.acquire('a')
    entered.push(i)
    return leave!
  })
  high = true
  first[0]!()
  first[1]!()
  await new Promise(setImmediate)
  // one of the first is still inside
  expect(entered).toEqual([])
  expect(await gate.acquire('b')).not.toBeNull()
  first[2]!()
  await new Promise(setImmediate)
  expect(entered).toEqual([1])
  high = false
  ;(await later[0]!)()
  await new Promise(setImmediate)
  expect(entered).toEqual([1, 2, 3])
})

test('keys are in each other’s way when the event loop has no time to spare and more than one asks', async () => {
  const pressure = new LoadMonitor()
  pressure.recordCall('a')
  const busy = () => {
    for (const until = performance.now() + 300; performance.now() < until; );
  }
  busy()
  await new Promise(setImmediate)
  expect(pressure.keysCompete).toBe(false)
  pressure.recordCall('b')
  busy()
  await new Promise(setImmediate)
  expect(pressure.keysCompete).toBe(true)
})
