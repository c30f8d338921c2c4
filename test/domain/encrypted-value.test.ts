/** One secret value at rest: what is sealed opens in its own place alone, with the ring that has its key. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { seal, unseal } from '../../src/domain/crypto/encrypted-value.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { verifierContext } from '../../src/domain/oauth/authorizations/schemas.ts'
import { openProviderAccess, sealClientSecret } from '../../src/domain/oauth/provider-access/access.ts'
import { openToken, sealToken } from '../../src/domain/oauth/tokens/token.ts'
import type { OAuthProvider } from '../../src/generated/prisma/client.ts'

const key = randomBytes(32)
const ring = new KeyRing([['k1', key]])

test('what was sealed opens again, whatever it is', () => {
  for (const plain of ['', 'hunter2', 'ü – 🗝', 'x'.repeat(100_000)]) {
    expect(unseal(ring, 'oauth_tokens.sealed:1', seal(ring, 'oauth_tokens.sealed:1', plain))).toBe(plain)
  }
})

test('it shows nothing of its content, and never looks the same twice', () => {
  const one = seal(ring, 'here', 'canary-value')
  expect(one).not.toContain('canary')
  expect(Buffer.from(one.split('.')[2]!, 'base64url').toString('latin1')).not.toContain('canary')
  expect(seal(ring, 'here', 'canary-value')).not.toBe(one)
})

test('copied to another row it does not open', () => {
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
])('a %s opens in its own row alone, and in its own column', (_, sealIn, openIn) => {
  expect(openIn('1', sealIn('1'))).toBeTruthy()
  expect(() => openIn('2', sealIn('1'))).toThrow()
  expect(() => openIn('1', seal(ring, 'integrations.token:1', '{}'))).toThrow()
})

test('changed by one character it does not open', () => {
  const sealed = seal(ring, 'here', 'secret')
  const at = sealed.length - 4
  const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
  expect(() => unseal(ring, 'here', changed)).toThrow()
  expect(() => unseal(ring, 'here', '')).toThrow('not a sealed value')
})

test('a new key in front of the ring seals from now on; what the old one sealed still opens', () => {
  const old = seal(ring, 'here', 'secret')
  const rotated = new KeyRing([
    ['k2', randomBytes(32)],
    ['k1', key],
  ])
  expect(unseal(rotated, 'here', old)).toBe('secret')
  expect(seal(rotated, 'here', 'secret')).toMatch(/^k2\./)
})

test('a ring without its key does not open it', () => {
  const other = new KeyRing([['k2', randomBytes(32)]])
  expect(() => unseal(other, 'here', seal(ring, 'here', 'secret'))).toThrow('no key k1')
})
