/** Token buckets with a test clock. */
import { describe, expect, test } from 'vitest'
import { TokenBuckets } from '../../src/platform/async/token-buckets.ts'

function buckets(options: { perSecond: number; burst: number; maxKeys?: number }) {
  const clock = { now: 1000 }
  return { clock, tokens: new TokenBuckets({ ...options, now: () => clock.now }) }
}

/** The number of admitted calls. */
const admitted = (tokens: TokenBuckets, key: string, calls: number) =>
  Array.from({ length: calls }, () => tokens.take(key)).filter((state) => state.admitted).length

describe('a bucket of 500 a second and a burst of 2,000', () => {
  test('admits the burst immediately, then 500 in each second', () => {
    const { tokens, clock } = buckets({ perSecond: 500, burst: 2000 })
    expect(admitted(tokens, 'a', 3000)).toBe(2000)
    for (let second = 0; second < 5; second++) {
      clock.now += 1000
      expect(admitted(tokens, 'a', 3000)).toBe(500)
    }
  })

  test('is full after four idle seconds, and never exceeds its capacity', () => {
    const { tokens, clock } = buckets({ perSecond: 500, burst: 2000 })
    admitted(tokens, 'a', 2000)
    clock.now += 4_000
    expect(admitted(tokens, 'a', 3000)).toBe(2000)
    clock.now += 3_600_000
    expect(admitted(tokens, 'a', 3000)).toBe(2000)
  })

  test('reports its state', () => {
    const { tokens, clock } = buckets({ perSecond: 500, burst: 2000 })
    expect(tokens.take('a')).toEqual({
      admitted: true,
      burst: 2000,
      perSecond: 500,
      remaining: 1999,
      fullInSeconds: 1,
      retryAfterSeconds: 0,
    })
    admitted(tokens, 'a', 1999)
    expect(tokens.take('a')).toMatchObject({ admitted: false, remaining: 0, fullInSeconds: 4, retryAfterSeconds: 1 })
    clock.now += 2
    expect(tokens.take('a').admitted).toBe(true)
  })
})

test('a key that used its budget does not reduce another key’s', () => {
  const { tokens } = buckets({ perSecond: 1, burst: 5 })
  expect(admitted(tokens, 'greedy', 100)).toBe(5)
  expect(admitted(tokens, 'modest', 5)).toBe(5)
})

test('a rate below one per second reports the seconds until the next call', () => {
  const { tokens, clock } = buckets({ perSecond: 0.1, burst: 1 })
  tokens.take('a')
  expect(tokens.take('a').retryAfterSeconds).toBe(10)
  clock.now += 9_000
  expect(tokens.take('a').retryAfterSeconds).toBe(1)
  clock.now += 1_000
  expect(tokens.take('a').admitted).toBe(true)
})

test('a refunded token can be taken again, but never exceeds the capacity', () => {
  const { tokens } = buckets({ perSecond: 1, burst: 2 })
  tokens.take('a')
  tokens.refund('a')
  tokens.refund('a')
  expect(admitted(tokens, 'a', 5)).toBe(2)
})

test('the least recently used key is forgotten above the maximum of keys', () => {
  const { tokens } = buckets({ perSecond: 1, burst: 1, maxKeys: 2 })
  tokens.take('a')
  tokens.take('b')
  tokens.take('a')
  tokens.take('c')
  expect(tokens.take('a').admitted).toBe(false)
  expect(tokens.take('b').admitted).toBe(true)
})

test('a call heavier than the balance is admitted, and the next one waits until the debt is refilled', () => {
  const { tokens, clock } = buckets({ perSecond: 10, burst: 2 })
  expect(tokens.take('a', 32)).toMatchObject({ admitted: true, remaining: 0 })
  expect(tokens.take('a')).toMatchObject({ admitted: false, retryAfterSeconds: 4 })
  clock.now += 3_000
  expect(tokens.take('a').admitted).toBe(false)
  clock.now += 200
  expect(tokens.take('a').admitted).toBe(true)
})

test('unused buckets take little memory, however many keys they may have', () => {
  const used = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
  const before = used()
  const all = Array.from({ length: 1000 }, () => new TokenBuckets({ perSecond: 1, burst: 1, maxKeys: 10_000 }))
  for (const buckets of all) buckets.take('key')
  expect((used() - before) / all.length).toBeLessThan(20_000)
})
