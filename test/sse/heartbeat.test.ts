import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Beating, Heartbeat } from '../../src/api/responses/heartbeat.ts'

const SECOND = 1_000

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

class Stream implements Beating {
  wroteAt = 0
  /** In seconds. */
  readonly beats: number[] = []
  beat() {
    this.beats.push(Math.round(Date.now() / SECOND))
  }
}

test('An active stream gets no heartbeats; after 10 silent seconds it gets one', async () => {
  const heartbeat = new Heartbeat()
  const stream = new Stream()
  heartbeat.add(stream)
  for (let at = 0; at < 60; at += 5) {
    await vi.advanceTimersByTimeAsync(5 * SECOND)
    stream.wroteAt = heartbeat.now
  }
  expect(stream.beats).toEqual([])
  await vi.advanceTimersByTimeAsync(10 * SECOND)
  expect(stream.beats).toHaveLength(1)
})

test('Streams opened or written together get their heartbeats at different times', async () => {
  const heartbeat = new Heartbeat()
  const began = Math.round(Date.now() / SECOND)
  const streams = Array.from({ length: 1_000 }, () => new Stream())
  for (const stream of streams) heartbeat.add(stream)
  await vi.advanceTimersByTimeAsync(65 * SECOND)
  const atOnce = new Map<number, number>()
  for (const { beats } of streams) {
    const gaps = [began, ...beats].map((at, i, all) => (all[i + 1] ?? at) - at)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(11)
    for (const at of beats) atOnce.set(at, (atOnce.get(at) ?? 0) + 1)
  }
  expect(Math.max(...atOnce.values())).toBeLessThanOrEqual(300)
})

test('Streams get their heartbeats within 15 seconds although a busy event loop delays each timer', async () => {
  const heartbeat = new Heartbeat()
  const streams = Array.from({ length: 100 }, () => new Stream())
  for (const stream of streams) heartbeat.add(stream)
  const begunAt = performance.now()
  const began = Math.round(Date.now() / SECOND)
  for (let at = 0; at < 60; at += 4) {
    // time passes without timers
    vi.setSystemTime(Date.now() + 3 * SECOND)
    vi.spyOn(performance, 'now').mockReturnValue((at + 4) * SECOND + begunAt)
    await vi.advanceTimersByTimeAsync(1 * SECOND)
  }
  for (const { beats } of streams) {
    const gaps = [began, ...beats].map((at, i, all) => (all[i + 1] ?? at) - at)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(15)
    expect(beats.length).toBeGreaterThanOrEqual(3)
  }
})

test('A stream that ends while others get their heartbeats gets none any more', async () => {
  const heartbeat = new Heartbeat()
  const streams = Array.from({ length: 100 }, () => new Stream())
  for (const stream of streams) heartbeat.add(stream)
  const [ended] = streams.slice(64)
  // has the silence of `ended`, and comes before it in the same slice of work
  streams[60]!.beat = () => {
    vi.spyOn(performance, 'now').mockReturnValueOnce(performance.now() + SECOND)
    setImmediate(() => heartbeat.delete(ended!))
  }
  await vi.advanceTimersByTimeAsync(60 * SECOND)
  expect(ended!.beats).toEqual([])
})
