/** Slots of streams, waits and downloads: limits per workspace and per holder. */
import { expect, test } from 'vitest'
import { createConcurrencyLimit } from '../../src/domain/concurrency/concurrency-limit.ts'

test('a pool has a fixed number of slots per key, and a released slot is free once', () => {
  const room = createConcurrencyLimit(2)
  const take = (workspace: string) => typeof room.take(workspace, 'key')
  const first = room.take('a', 'key') as () => void
  expect([take('a'), take('a'), take('b')]).toEqual(['function', 'string', 'function'])
  first()
  first()
  expect([take('a'), take('a')]).toEqual(['function', 'string'])
  const endless = createConcurrencyLimit(0, 85)
  for (let i = 0; i < 100; i++) expect(endless.take('a', 'key')).toBeTypeOf('function')
})

test('one key gets a share of a workspace’s slots, and the rest stays free for others', () => {
  const room = createConcurrencyLimit(4, 50)
  const outcome = (holder: string) => {
    const taken = room.take('workspace', holder)
    return typeof taken === 'function' ? 'taken' : taken
  }
  expect([outcome('one'), outcome('one'), outcome('one')]).toEqual(['taken', 'taken', 'holder'])
  expect([outcome('other'), outcome('other'), outcome('other')]).toEqual(['taken', 'taken', 'workspace'])
  expect(createConcurrencyLimit(1, 1).take('workspace', 'one')).toBeTypeOf('function')
})
