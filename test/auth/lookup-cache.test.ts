/** The cache of key look-ups: small, and never the reason why a revoked key still works. */
import { expect, test } from 'vitest'
import { type Found, LookupCache } from '../../src/api/auth/lookup-cache.ts'

const found = (value: string, holdsFor: number | null = null): Found<string> => ({
  value,
  id: `id of ${value}`,
  maxAgeMs: holdsFor,
})

test('the cache evicts its oldest entry above its size', async () => {
  const cache = new LookupCache<string>({ ttlMs: 60_000, maxEntries: 2 })
  const asked: string[] = []
  const get = (key: string) =>
    cache.get(key, async () => {
      asked.push(key)
      return found(key)
    })
  for (const key of ['a', 'b', 'c', 'c', 'b', 'a']) expect(await get(key)).toBe(key)
  expect(asked).toEqual(['a', 'b', 'c', 'a'])
})

test('the cache stores no null, so a new key works immediately', async () => {
  const cache = new LookupCache<string>({ ttlMs: 60_000, maxEntries: 2 })
  expect(await cache.get('a', async () => null)).toBeNull()
  expect(await cache.get('a', async () => found('now'))).toBe('now')
})

test('the cache keeps no entry longer than its maximum age', async () => {
  const cache = new LookupCache<string>({ ttlMs: 60_000, maxEntries: 2 })
  await cache.get('a', async () => found('old', 0))
  expect(await cache.get('a', async () => found('new'))).toBe('new')
})

test('the cache does not store a look-up that began before forget()', async () => {
  const cache = new LookupCache<string>({ ttlMs: 60_000, maxEntries: 2 })
  let answer: (found: Found<string>) => void = () => {}
  const looking = new Promise<Found<string>>((resolve) => {
    answer = resolve
  })
  const slow = cache.get('a', () => looking)
  cache.forget('id of good')
  const later = cache.get('a', async () => null)
  answer(found('good'))
  expect(await slow).toBe('good')
  // neither the second look-up nor the next one is stale
  expect(await later).toBeNull()
  expect(await cache.get('a', async () => null)).toBeNull()
})

test('a failed look-up is repeated', async () => {
  const cache = new LookupCache<string>({ ttlMs: 60_000, maxEntries: 2 })
  const failing = cache.get('a', () => Promise.reject(new Error('no connection')))
  await expect(failing).rejects.toThrow('no connection')
  expect(await cache.get('a', async () => found('there'))).toBe('there')
})
