/** Settings: a wrong value is one line that names the setting and the allowed values. */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readBuilderSettings } from '../src/platform/config/builder-settings.ts'
import { readConfig } from '../src/platform/config/config.ts'
import { readListenerSettings } from '../src/platform/config/listener-settings.ts'
import { SETTINGS } from '../src/platform/config/settings.ts'

const KEY = `${'A'.repeat(43)}=`

test('without any setting, every default is valid', () => {
  expect(Object.keys(readConfig({})).sort()).toEqual(Object.keys(SETTINGS).sort())
})

test('an empty variable counts as unset', () => {
  expect(readConfig({ PORT: '', PUBLIC_URL: '' })).toEqual(readConfig({}))
})

describe('a setting from a file', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-settings-'))
  const holding = (text: string) => {
    const file = path.join(folder, randomUUID())
    fs.writeFileSync(file, text)
    return file
  }
  afterAll(() => fs.rmSync(folder, { recursive: true }))

  test('has the file’s text without the newline at its end', () => {
    expect(readConfig({ SECRETS_KEYS_FILE: holding(`a:${KEY}\n`) }).SECRETS_KEYS).toBe(`a:${KEY}`)
    const pem = 'first line\nsecond line'
    expect(readConfig({ OIDC_NAME_FILE: holding(`${pem}\r\n`) }).OIDC_NAME).toBe(pem)
  })

  test('is the default when the file is empty or no file is named', () => {
    expect(readConfig({ PORT_FILE: holding('\n'), PUBLIC_URL_FILE: '' })).toEqual(readConfig({}))
  })

  test('works for the listener and the builder too', () => {
    const key = { CONTROL_PLANE_API_KEY_FILE: holding(`${'k'.repeat(20)}\n`) }
    const url = { CONTROL_PLANE_URL: 'http://127.0.0.1' }
    expect(readBuilderSettings({ ...key, ...url }).CONTROL_PLANE_API_KEY).toBe('k'.repeat(20))
    expect(readListenerSettings({ ...key, ...url, LISTENER_ID: randomUUID() }).CONTROL_PLANE_API_KEY).toBe(
      'k'.repeat(20),
    )
  })

  test('that is missing, wrong, or set in both ways stops the start and shows no value', () => {
    const missing = path.join(folder, 'missing')
    expect(() => readConfig({ DATABASE_URL_FILE: missing })).toThrow(
      new Error(`Wrong settings: DATABASE_URL_FILE can't be read: ENOENT ${missing}`),
    )
    expect(() => readConfig({ CONTROL_PLANE_API_KEY_FILE: holding('secret') })).toThrow(
      new Error('Wrong settings: CONTROL_PLANE_API_KEY must be 20 to 256 printable characters without spaces'),
    )
    expect(() => readConfig({ SECRETS_KEYS: `a:${KEY}`, SECRETS_KEYS_FILE: holding(`a:${KEY}`) })).toThrow(
      new Error('Wrong settings: SECRETS_KEYS and SECRETS_KEYS_FILE are both set, and only one of them may be'),
    )
  })
})

test('the old name of a renamed setting stops the start and names the new one', () => {
  expect(() => readConfig({ REUSED_ANSWERS_MB: '32' })).toThrow(
    'Wrong settings: REUSED_ANSWERS_MB has a new name, RESPONSE_CACHE_MB',
  )
})

describe('a wrong value', () => {
  test.each([
    ['PORT', 'abc', 'must be a whole number from 0 to 65535'],
    ['PORT', ' ', 'must be a whole number from 0 to 65535'],
    ['PORT', '0x50', 'must be a whole number from 0 to 65535'],
    ['PORT', '65536', 'must be a whole number from 0 to 65535'],
    ['HOST', 'localhost:8080', 'must be a host name or an address, without scheme and port'],
    ['PUBLIC_URL', 'localhost:8080', 'must be an http(s) URL'],
    ['DATABASE_URL', 'mysql://x', 'must be a postgresql:// URL'],
    ['DATABASE_POOL', '1', 'must be a whole number from 2 to 500'],
    ['CONTROL_PLANE_API_KEY', 'short', 'must be 20 to 256 printable characters without spaces'],
    ['SECRETS_KEYS', 'a:b', 'must be id:base64-of-32-bytes, comma-separated, newest first'],
    ['SECRETS_KEYS', `a:${KEY},a:${KEY}`, 'must have each id once'],
    ['LOG_LEVEL', 'verbose', 'must be debug, info, warn, error or silent'],
    ['JWT_JWKS_URL', 'x', 'must be an http(s) URL'],
    ['OIDC_ISSUER', 'http://id.example.com', 'must be an https URL (http only on this machine) without a query'],
    ['OIDC_ISSUER', 'https://id.example.com?x', 'must be an https URL (http only on this machine) without a query'],
    ['OIDC_SCOPES', 'profile email', 'must be scopes with spaces between, openid among them'],
    ['DEPLOYMENT_MODES', 'cloud,x', 'must be cloud, self_hosted or both'],
    ['DEPLOYMENT_MODES', ',', 'must be cloud, self_hosted or both'],
    ['WORKER', 'true', 'must be on or off'],
    ['RUNTIME', 'docker', 'must be process, kubernetes or none'],
    ['K8S_NAMESPACE', 'Agents', 'must be the name of a Kubernetes namespace'],
    ['POSTGRES_IMAGE', 'postgres 17', 'must be an image reference: registry/repository:tag or …@sha256:digest'],
    ['POD_SECURITY', 'privileged', 'must be baseline or restricted'],
    ['POD_USER', '0', 'must be a user id from 1 to 2147483647, or any'],
    ['POD_USER', 'postgres', 'must be a user id, or any'],
    ['DEFAULT_CPU', '0', 'must be a number, with at most one decimal, from 0.1 to 8'],
    ['DEFAULT_CPU_LIMIT', '17', 'must be 0, or a number from 0.1 to 16'],
    ['DEFAULT_DB_MEMORY_MB', '1.5', 'must be a whole number from 1 to 100000000'],
    ['STORAGE_CLASS', 'Fast!', 'must be the name of a Kubernetes object'],
    ['VOLUME_POLICY', 'retain', 'must be delete or keep'],
    ['INGRESS_DOMAIN', 'https://agents.example.com', 'must be a domain name'],
    ['GATEWAY', 'public', 'must be namespace and name of a Gateway, like gateways/public'],
    ['APP_HOST', 'http://agents.example', 'must be a host name or an address, without scheme and port'],
    ['APP_PORTS', '3100', 'must look like 3100-3999'],
    ['APP_PORTS', '3999-3100', 'must be two ports, the lower one first'],
    ['LEASE_SECONDS', '0', 'must be a whole number from 1 to 600'],
    ['BUILD_DEADLINE_MINUTES', '1e300', 'must be a number from 0.01 to 10080'],
    ['SWEEP_SECONDS', '99999999', 'must be a whole number from 1 to 3600'],
    ['GRAPHIQL', 'yes', 'must be on or off'],
    ...[
      'https://a.example',
      'a.example:443',
      '*.a.example',
      '10.0.0',
      '10.0.0.256',
      '10.0.0.0/33',
      'a.example/8',
      '[::1]',
    ].map((entry) => [
      'OUTBOUND_ALLOW',
      `b.example,${entry}`,
      'must be host names, IP addresses or ranges like 10.0.0.0/8, comma-separated',
    ]),
  ])('%s=%s', (name, value, allowed) => {
    expect(() => readConfig({ [name]: value })).toThrow(new Error(`Wrong settings: ${name} ${allowed}`))
  })

  test.each(['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL'])('%s alone', (name) => {
    expect(() => readConfig({ [name]: 'https://issuer.example' })).toThrow(
      'Wrong settings: JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL need each other',
    )
  })

  test.each(['OIDC_ISSUER', 'OIDC_CLIENT_ID'])('%s alone', (name) => {
    expect(() => readConfig({ [name]: 'https://issuer.example' })).toThrow(
      'Wrong settings: OIDC_ISSUER and OIDC_CLIENT_ID need each other',
    )
  })
})

test('RUNTIME=kubernetes without a namespace is refused', () => {
  expect(() => readConfig({ RUNTIME: 'kubernetes' })).toThrow(
    'Wrong settings: RUNTIME=kubernetes needs K8S_NAMESPACE, the namespace of the deployments',
  )
  expect(readConfig({ RUNTIME: 'kubernetes', K8S_NAMESPACE: 'agents' }).RUNTIME).toBe('kubernetes')
})

test.each(['127.0.0.1', 'agents.example.com', '::1', '[::1]'])('APP_HOST=%s is valid', (APP_HOST) => {
  expect(readConfig({ APP_HOST }).APP_HOST).toBe(APP_HOST)
})

test('OUTBOUND_ALLOW takes names, addresses and ranges', () => {
  const entries = ['localhost', 'idp.internal', 'keycloak_1', '10.1.2.3', '::1', '10.0.0.0/8', 'fd00::/8']
  expect(readConfig({ OUTBOUND_ALLOW: entries.join(' , ') }).OUTBOUND_ALLOW).toEqual(entries)
  expect(readConfig({}).OUTBOUND_ALLOW).toEqual([])
})
