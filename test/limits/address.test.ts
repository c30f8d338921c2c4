/** Whom an address stands for, and which are proxies. */
import { expect, test } from 'vitest'
import { addressKey, matcher } from '../../src/api/limits/address.ts'
import { createSlotPool } from '../../src/domain/context/slots.ts'

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

test('proxies are told by address and range, also when IPv4 comes in IPv6 clothes', () => {
  const trusted = matcher(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32'])
  for (const one of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.1', '2001:db8::5']) expect(trusted(one), one).toBe(true)
  for (const one of ['11.0.0.1', '192.0.2.2', '2001:db9::1', 'nonsense', undefined])
    expect(trusted(one), one).toBe(false)
  expect(matcher([])('127.0.0.1')).toBe(false)
})

test('a room has so many places for each key; one that is given back is free once', () => {
  const room = createSlotPool(2)
  const first = room.take('a')!
  expect([room.take('a'), room.take('a'), room.take('b')].map((leave) => leave !== null)).toEqual([true, false, true])
  first()
  first()
  expect([room.take('a'), room.take('a')].map((leave) => leave !== null)).toEqual([true, false])
  const endless = createSlotPool(0)
  for (let i = 0; i < 100; i++) expect(endless.take('a')).not.toBeNull()
})
