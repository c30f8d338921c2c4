// The cache's limits in bytes: in total and per owner.
import { expect, test } from 'vitest'
import { CacheEntries } from '../../src/api/responses/response-cache.ts'

const MB = 1024 * 1024
const found = (kept: CacheEntries<object>, keys: readonly string[]) => keys.filter((key) => kept.get(key)).length
const keysOf = (owner: string, count: number) => Array.from({ length: count }, (_, n) => `${owner} ${n}`)

function fill(kept: CacheEntries<object>, owner: string, count: number, bytes: number): string[] {
  const keys = keysOf(owner, count)
  for (const key of keys) kept.set(key, owner, {}, bytes)
  return keys
}

test('an owner with many entries evicts only its own oldest entries', () => {
  const kept = new CacheEntries<object>(MB)
  const mine = fill(kept, 'me', 5, 10_000)
  const theirs = fill(kept, 'greedy', 1000, 10_000)
  expect(found(kept, mine)).toBe(5)
  expect(found(kept, theirs)).toBeGreaterThan(20)
  expect(found(kept, theirs.slice(-20))).toBe(20)
  expect(kept.size).toBeLessThanOrEqual(MB)
})

test('a cache with many owners stays within its limit and evicts the oldest entries', () => {
  const kept = new CacheEntries<object>(MB)
  const all = Array.from({ length: 500 }, (_, n) => fill(kept, `owner ${n}`, 3, 5_000))
  expect(kept.size).toBeLessThanOrEqual(MB)
  expect(found(kept, all[0]!)).toBe(0)
  expect(found(kept, all.at(-1)!)).toBe(3)
})

test('an entry that is read again stays, even if it is the oldest', () => {
  const kept = new CacheEntries<object>(MB)
  const [first] = fill(kept, 'me', 1, 10_000)
  for (let n = 0; n < 200; n++) {
    kept.set(`other ${n}`, 'me', {}, 10_000)
    expect(kept.get(first!)).toBeDefined()
  }
})

test('an answer that is too large is not cached, and its old entry is removed', () => {
  const kept = new CacheEntries<object>(MB)
  kept.set('a', 'me', {}, 10)
  kept.set('a', 'me', {}, MB)
  expect(kept.get('a')).toBeUndefined()
  expect(kept.size).toBe(0)
})
