/** Tests signatures of the key ring. */
import { expect, test } from 'vitest'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'

const old = ['old', Buffer.alloc(32, 1)] as const
const young = ['young', Buffer.alloc(32, 2)] as const

test('a signature is valid only for its text and purpose', () => {
  const ring = new KeyRing([old])
  const signature = ring.sign('upload', 'a')
  expect(ring.verify('upload', 'a', signature)).toBe(true)
  expect(ring.verify('upload', 'b', signature)).toBe(false)
  expect(ring.verify('other', 'a', signature)).toBe(false)
  for (const wrong of ['', 'x', `${signature}AA`, signature.slice(1)])
    expect(ring.verify('upload', 'a', wrong)).toBe(false)
})

test('a signature is valid after a rotation until its key is removed', () => {
  const signature = new KeyRing([old]).sign('upload', 'a')
  expect(new KeyRing([young, old]).verify('upload', 'a', signature)).toBe(true)
  expect(new KeyRing([young]).verify('upload', 'a', signature)).toBe(false)
  expect(new KeyRing([young, old]).sign('upload', 'a')).toBe(new KeyRing([young]).sign('upload', 'a'))
})
