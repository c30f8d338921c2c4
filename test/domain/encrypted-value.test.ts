/** Encrypted values and signatures: the value's place, and a key ring with its key. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { seal, unseal } from '../../src/domain/crypto/encrypted-value.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { verifierContext } from '../../src/domain/oauth/authorizations/authorization.ts'
import { openProviderAccess, sealClientSecret } from '../../src/domain/oauth/tokens/provider-access.ts'
import { openToken, sealToken } from '../../src/domain/oauth/tokens/token.ts'
import type { OAuthProvider } from '../../src/generated/prisma/client.ts'

const key = randomBytes(32)
const ring = new KeyRing([['k1', key]])

test('decryption returns the original text for any text', () => {
  for (const plain of ['', 'hunter2', 'ü – 🗝', 'x'.repeat(100_000)]) {
    expect(unseal(ring, 'oauth_tokens.sealed:1', seal(ring, 'oauth_tokens.sealed:1', plain))).toBe(plain)
  }
})

test('the encrypted text does not contain the value, and differs each time', () => {
  const one = seal(ring, 'here', 'canary-value')
  expect(one).not.toContain('canary')
  expect(Buffer.from(one.split('.')[2]!, 'base64url').toString('latin1')).not.toContain('canary')
  expect(seal(ring, 'here', 'canary-value')).not.toBe(one)
})

test('a copy in another row cannot be decrypted', () => {
  const sealed = seal(ring, 'oauth_tokens.sealed:1', 'secret')
  expect(() => unseal(ring, 'oauth_tokens.sealed:2', sealed)).toThrow()
})

const content = { accessToken: 'a', tokenType: 'bearer', refreshToken: 'r' }
test.each([
  [
    'token',
    (id: string) => sealToken(ring, id, content),
    (id: string, sealed: string) => openToken(ring, { id, sealed }),
  ],
  [
    'code verifier',
    (id: string) => seal(ring, verifierContext(id), 'v'),
    (id: string, sealed: string) => unseal(ring, verifierContext(id), sealed),
  ],
  [
    'client secret',
    (id: string) => sealClientSecret(ring, id, 's'),
    (id: string, clientSecret: string) => openProviderAccess(ring, { id, clientSecret } as OAuthProvider).clientSecret,
  ],
])('a %s can be decrypted only in its own row and column', (_, sealIn, openIn) => {
  expect(openIn('1', sealIn('1'))).toBeTruthy()
  expect(() => openIn('2', sealIn('1'))).toThrow()
  expect(() => openIn('1', seal(ring, 'integrations.token:1', '{}'))).toThrow()
})

test('a value with one changed character cannot be decrypted', () => {
  const sealed = seal(ring, 'here', 'secret')
  const at = sealed.length - 4
  const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
  expect(() => unseal(ring, 'here', changed)).toThrow()
  expect(() => unseal(ring, 'here', '')).toThrow('not a sealed value')
})

test('a new first key encrypts new values, and the old key still decrypts old ones', () => {
  const old = seal(ring, 'here', 'secret')
  const rotated = new KeyRing([
    ['k2', randomBytes(32)],
    ['k1', key],
  ])
  expect(unseal(rotated, 'here', old)).toBe('secret')
  expect(seal(rotated, 'here', 'secret')).toMatch(/^k2\./)
})

test("a ring without the value's key cannot decrypt it", () => {
  const other = new KeyRing([['k2', randomBytes(32)]])
  expect(() => unseal(other, 'here', seal(ring, 'here', 'secret'))).toThrow('no key k1')
})

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
