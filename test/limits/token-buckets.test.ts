/** Token buckets, by a clock of the test. */
import { describe, expect, test } from 'vitest'
import { TokenBuckets } from '../../src/api/limits/token-buckets.ts'

function buckets(options: { perSecond: number; burst: number; size?: number }) {
  const clock = { now: 1000 }
  return { clock, of: new TokenBuckets({ ...options, now: () => clock.now }) }
}

/** How many of so many calls are admitted. */
const admitted = (of: TokenBuckets, key: string, calls: number) =>
  Array.from({ length: calls }, () => of.take(key)).filter((standing) => standing.admitted).length

describe('a bucket of 500 a second and a burst of 2,000', () => {
  test('admits the burst at once, then 500 in each second, for ever', () => {
    const { of, clock } = buckets({ perSecond: 500, burst: 2000 })
    expect(admitted(of, 'a', 3000)).toBe(2000)
    for (let second = 0; second < 5; second++) {
      clock.now += 1000
      expect(admitted(of, 'a', 3000)).toBe(500)
    }
  })

  test('is full again after four seconds of rest, and never fuller', () => {
    const { of, clock } = buckets({ perSecond: 500, burst: 2000 })
    admitted(of, 'a', 2000)
    clock.now += 4_000
    expect(admitted(of, 'a', 3000)).toBe(2000)
    clock.now += 3_600_000
    expect(admitted(of, 'a', 3000)).toBe(2000)
  })

  test('says where a key stands', () => {
    const { of, clock } = buckets({ perSecond: 500, burst: 2000 })
    expect(of.take('a')).toEqual({
      admitted: true,
      burst: 2000,
      perSecond: 500,
      remaining: 1999,
      fullIn: 1,
      retryAfter: 0,
    })
    admitted(of, 'a', 1999)
    expect(of.take('a')).toMatchObject({ admitted: false, remaining: 0, fullIn: 4, retryAfter: 1 })
    clock.now += 2
    expect(of.take('a').admitted).toBe(true)
  })
})

test('a key that has used all of it takes nothing from another', () => {
  const { of } = buckets({ perSecond: 1, burst: 5 })
  expect(admitted(of, 'greedy', 100)).toBe(5)
  expect(admitted(of, 'modest', 5)).toBe(5)
})

test('at less than one a second it says how many seconds it takes until the next call', () => {
  const { of, clock } = buckets({ perSecond: 0.1, burst: 1 })
  of.take('a')
  expect(of.take('a').retryAfter).toBe(10)
  clock.now += 9_000
  expect(of.take('a').retryAfter).toBe(1)
  clock.now += 1_000
  expect(of.take('a').admitted).toBe(true)
})

test('what is given back can be taken again, but makes no bucket fuller than full', () => {
  const { of } = buckets({ perSecond: 1, burst: 2 })
  of.take('a')
  of.giveBack('a')
  of.giveBack('a')
  expect(admitted(of, 'a', 5)).toBe(2)
})

test('of more keys than it remembers, it forgets the one that was quiet longest', () => {
  const { of } = buckets({ perSecond: 1, burst: 1, size: 2 })
  of.take('a')
  of.take('b')
  of.take('a')
  of.take('c')
  expect(of.take('a').admitted).toBe(false)
  expect(of.take('b').admitted).toBe(true)
})

test('a call that weighs more than there is comes through, and what is missing comes back before the next', () => {
  const { of, clock } = buckets({ perSecond: 10, burst: 2 })
  expect(of.take('a', 32)).toMatchObject({ admitted: true, remaining: 0 })
  expect(of.take('a')).toMatchObject({ admitted: false, retryAfter: 4 })
  clock.now += 3_000
  expect(of.take('a').admitted).toBe(false)
  clock.now += 200
  expect(of.take('a').admitted).toBe(true)
})
