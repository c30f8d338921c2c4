/** Opening the registry by its settings, and the tokens that it signs. */
import { X509Certificate } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRegistry } from '../../src/adapters/registry.ts'
import { ConfigError, readConfig } from '../../src/platform/config/config.ts'
import { type RegistrySettings, registrySettings } from './support.ts'

let settings: RegistrySettings
let rsa: RegistrySettings
beforeAll(() => {
  settings = registrySettings()
  rsa = registrySettings('https://registry.example.com', 'rsa')
})
afterAll(() => {
  for (const { folder } of [settings, rsa]) rmSync(folder, { recursive: true })
})

const open = (changed: Record<string, string> = {}) =>
  createRegistry(readConfig({ ...asSettings(settings), ...changed }))
const asSettings = ({ folder: _, ...named }: RegistrySettings): Record<string, string> => named
const access = [{ repository: 'w/d', actions: ['pull', 'push'] as const }]

function file(name: string, text: string): string {
  const to = path.join(settings.folder, name)
  writeFileSync(to, text)
  return to
}

test('without settings there is no registry', async () => {
  expect(await createRegistry(readConfig({}))).toBeNull()
})

describe.each([
  ['P-256', () => settings, 'ES256', 'registry.example.com:5000'],
  ['RSA', () => rsa, 'RS256', 'registry.example.com'],
] as const)('with a key of %s', (_kind, from, algorithm, host) => {
  test('a token has the protocol’s claims, and the certificate verifies it', async () => {
    const registry = (await open(asSettings(from())))!
    expect(registry.host).toBe(host)
    const token = await registry.sign('me', access, 900)
    const certificate = new X509Certificate(readFileSync(from().REGISTRY_TOKEN_CERTIFICATE))
    await jwtVerify(token, certificate.publicKey)
    const chain = [certificate.raw.toString('base64')]
    expect(decodeProtectedHeader(token)).toEqual({ alg: algorithm, typ: 'JWT', x5c: chain })
    const claims = decodeJwt(token)
    expect(claims).toMatchObject({
      iss: 'pilothouse',
      sub: 'me',
      aud: host,
      jti: expect.any(String),
      access: [{ type: 'repository', name: 'w/d', actions: ['pull', 'push'] }],
    })
    expect(claims.exp! - claims.iat!).toBe(900)
    expect(claims.nbf!).toBeLessThan(claims.iat!)
  })
})

test('verifying our token returns its access and expiry', async () => {
  const registry = (await open())!
  const token = await registry.sign('me', access, 900)
  const verified = await registry.verify(token)
  expect(verified).toEqual({ subject: 'me', access, expiresAt: new Date(decodeJwt(token).exp! * 1000) })
})

test('a token that is expired, changed, for another service or signed by another key is rejected', async () => {
  const registry = (await open())!
  const token = await registry.sign('me', access, 900)
  const [head, , signature] = token.split('.')
  const other = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: 'you' })).toString('base64url')
  expect(await registry.verify(await registry.sign('me', access, -1))).toBeNull()
  expect(await registry.verify(`${head}.${other}.${signature}`)).toBeNull()
  expect(await registry.verify('nonsense')).toBeNull()
  expect(await registry.verify('')).toBeNull()
  expect(await (await open({ REGISTRY_SERVICE: 'another' }))!.verify(token)).toBeNull()
  expect(await (await open({ REGISTRY_ISSUER: 'another' }))!.verify(token)).toBeNull()
  expect(await (await open({ ...asSettings(rsa), REGISTRY_URL: settings.REGISTRY_URL }))!.verify(token)).toBeNull()
})

describe('a wrong setting stops the start with one line', () => {
  const text = (name: string) => readFileSync(path.join(settings.folder, name), 'utf8')
  test.each<[string, () => Record<string, string>, RegExp]>([
    ['a file that is not there', () => ({ REGISTRY_TOKEN_KEY: '/nowhere/key' }), /^REGISTRY_TOKEN_KEY: .*ENOENT/],
    [
      'no certificate file',
      () => ({ REGISTRY_TOKEN_CERTIFICATE: '/nowhere' }),
      /^REGISTRY_TOKEN_CERTIFICATE: .*ENOENT/,
    ],
    ['a file without a key', () => ({ REGISTRY_TOKEN_KEY: file('no', 'hello') }), /no private key/],
    ['a certificate as the key', () => ({ REGISTRY_TOKEN_KEY: settings.REGISTRY_TOKEN_CERTIFICATE }), /no private key/],
    ['a key as the certificate', () => ({ REGISTRY_TOKEN_CERTIFICATE: settings.REGISTRY_TOKEN_KEY }), /no certificate/],
    [
      'a broken certificate',
      () => ({ REGISTRY_TOKEN_CERTIFICATE: file('broken', text('ec.certificate.pem').replace(/\n.{20}/, '\n')) }),
      /no certificate/,
    ],
    [
      'the certificate of another key',
      () => ({ REGISTRY_TOKEN_CERTIFICATE: rsa.REGISTRY_TOKEN_CERTIFICATE }),
      /not of the key/,
    ],
    ['a URL with a path', () => ({ REGISTRY_URL: 'https://registry.example.com/v2' }), /^REGISTRY_URL .*no path/],
    ['a URL with credentials', () => ({ REGISTRY_URL: 'https://me:pw@registry.example.com' }), /no credentials/],
  ])('%s', async (_what, changed, message) => {
    const error = await open(changed()).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(ConfigError)
    expect(error.message).toMatch(message)
    expect(error.message).not.toMatch(/\n|BEGIN|pw/)
  })

  test('a key that is too weak', async () => {
    const weak = registrySettings(undefined, 'weak')
    await expect(open(asSettings(weak))).rejects.toThrow('RSA key of at least 2048 bits')
    rmSync(weak.folder, { recursive: true })
  })

  test('a certificate that has expired', async () => {
    await expect(open({ REGISTRY_TOKEN_CERTIFICATE: settings.expired })).rejects.toThrow('the certificate has expired')
  })
})
