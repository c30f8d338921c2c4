/** Keys of addresses, and trusted proxies. */
import { expect, test } from 'vitest'
import { addressKey, matcher } from '../../src/api/limits/address.ts'
import { createConcurrencyLimit } from '../../src/domain/concurrency/concurrency-limit.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::1', '2001:db8:1:2'],
  ['::1', '0:0:0:0'],
  ['nonsense', 'unknown'],
  [undefined, 'unknown'],
])('%s is counted as %s', (address, key) => {
  expect(addressKey(address)).toBe(key)
})

test('a proxy matches by address and range, also as an IPv4-mapped IPv6 address', () => {
  const trusted = matcher(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'])
  for (const one of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.1', '2001:db8::5']) expect(trusted(one), one).toBe(true)
  for (const one of ['11.0.0.1', '192.0.2.2', '2001:db9::1', 'nonsense', undefined])
    expect(trusted(one), one).toBe(false)
  expect(matcher([])('127.0.0.1')).toBe(false)
})

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
