/**
 * Key rotation (docs/deployments.md#secrets): all values move to the first key while servers run, and the old key can be
 * removed.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { loadKeyRing } from '../../src/app/keyring-file.ts'
import { seal, unseal } from '../../src/domain/crypto/encrypted-value.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { verifierContext } from '../../src/domain/oauth/authorizations/authorization.ts'
import { queueRevocation } from '../../src/domain/oauth/tokens/revoke.ts'
import { openToken } from '../../src/domain/oauth/tokens/token.ts'
import { rotateSecrets, SEALED_COLUMNS } from '../../src/domain/secrets/rotate.ts'
import { openSecrets, sealSecrets } from '../../src/domain/secrets/secret-set.ts'
import { transaction } from '../../src/domain/transaction/context.ts'
import type { Secret } from '../../src/domain/values/shapes.ts'
import { serverCommand } from '../client/support.ts'
import { testApp, useApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'
import { storedToken } from '../support/oauth-tokens.ts'
import { run, temporaryFolder } from '../support/process.ts'

vi.setConfig({ testTimeout: 60_000 })

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const [k1, k2, k3] = ['k1', 'k2', 'k3'].map(newKey) as [string, string, string]
const content = { accessToken: 'an access token', tokenType: 'bearer', refreshToken: 'r' }

const app = useApp(() => ({ settings: { SECRETS_KEYS: k1 } }))

const rotate = (SECRETS_KEYS: string) =>
  serverCommand(['server', 'secrets', 'rotate'], { DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir, SECRETS_KEYS })
const secretsOf = (deployment: string, server = app) =>
  server.rest('GET', `/v2/deployments/${deployment}`).then(({ body }) => body.secrets)

/** Stores one of each sealed value. Returns how to read them with a key ring. */
async function sealEverything() {
  const { db, keyring } = app.app.core
  const made = await app.rest('POST', '/v2/auth/providers', {
    body: {
      provider_id: `example-${randomUUID().slice(0, 8)}`,
      name: 'Example',
      client_id: 'our-client',
      client_secret: 's3cret',
      auth_url: 'https://accounts.example.com/authorize',
      token_url: 'https://accounts.example.com/token',
    },
  })
  expect(made.status, made.text).toBe(200)
  const oauthProviderId = made.body.id as string
  const { workspaceId } = app.tenant
  const provider = await db.oAuthProvider.findUniqueOrThrow({ where: { id: oauthProviderId } })
  const token = await storedToken(app, { provider, content })
  await transaction(app.app.core, (tx) => queueRevocation(tx, keyring, provider, token, content))
  const authorization = randomUUID()
  await db.oAuthAuthorization.create({
    data: {
      id: authorization,
      workspaceId,
      oauthProviderId,
      subject: 'somebody',
      createdBy: 'somebody',
      scopes: [],
      stateHash: randomUUID(),
      redirectUri: 'https://pilothouse.test',
      codeVerifier: seal(keyring, verifierContext(authorization), 'the verifier'),
      expiresAt: new Date(Date.now() + 600_000),
    },
  })
  return async (ring: KeyRing) => {
    expect(openToken(ring, await db.oAuthToken.findUniqueOrThrow({ where: { id: token.id } }))).toEqual(content)
    const { codeVerifier } = await db.oAuthAuthorization.findUniqueOrThrow({ where: { id: authorization } })
    expect(unseal(ring, verifierContext(authorization), codeVerifier!)).toBe('the verifier')
  }
}

test('after a rotation on running servers, a server without the old key reads everything', async () => {
  const { id } = await imageDeployment(app, { secrets: [{ name: 'TOKEN', value: 's3cret-value' }] })
  const readAll = await sealEverything()
  const done = await rotate(`${k2},${k1}`)
  expect(done, done.stderr).toMatchObject({ code: 0 })
  expect(done.stdout).toBe(
    [
      'Encrypted 5 values with the key k2.',
      'Key k1 is unused. Remove it from SECRETS_KEYS.',
      'A running server with another first key than k2 still encrypts with that key. Restart it, then run this command again.',
      '',
    ].join('\n'),
  )
  const without = await testApp({ beside: app, settings: { SECRETS_KEYS: k2 } })
  expect(await secretsOf(id, without)).toEqual([{ name: 'TOKEN', value: 's3cret-value' }])
  await without.close()
  await readAll(KeyRing.parse(k2))
  await expect(testApp({ beside: app, settings: { SECRETS_KEYS: k1 } })).rejects.toThrow('need the key k2')
  expect((await rotate(`${k2},${k1}`)).stdout).toMatch(/^Encrypted 0 values .*\nKey k1 is unused/)
})

/** Stores a set of one secret directly in the database. Returns its id. */
async function store(keyring: KeyRing, deploymentId: string, secret: Secret): Promise<string> {
  const { setBy: _, ...data } = sealSecrets(keyring, { deploymentId, createdAt: new Date() }, [secret])
  return (await app.app.core.db.secretSet.create({ data })).id
}

test('values that a server writes with the old key during a rotation stay readable and move with the next rotation', async () => {
  // the server of this file has only k1 and reads its own values
  const { id } = await imageDeployment(app, { secrets: [{ name: 'TOKEN', value: 'one' }] })
  const ring = KeyRing.parse(`${k2},${k1}`)
  const core = { ...app.app.core, keyring: ring }
  const writing = Array.from({ length: 10 }, (_, n) =>
    store(KeyRing.parse(k1), id, { name: 'TOKEN', value: `value ${n}` }),
  )
  await Promise.all([rotateSecrets(core), rotateSecrets(core), ...writing])
  expect((await rotateSecrets(core)).needed).toEqual(new Map())
  const sets = await core.db.secretSet.findMany({ where: { id: { in: await Promise.all(writing) } } })
  expect(sets.map((set) => openSecrets(KeyRing.parse(k2), set)[0]!.value).sort()).toEqual(
    Array.from({ length: 10 }, (_, n) => `value ${n}`),
  )
})

test('a killed rotation continues where it stopped', async () => {
  const { id } = await imageDeployment(app)
  const { db } = app.app.core
  for (let n = 0; n < 2000; n += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, i) => store(KeyRing.parse(k2), id, { name: 'N', value: String(n + i) })),
    )
  const moved = () => db.secretSet.count({ where: { keyId: 'k3' } })
  const env = { DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir, SECRETS_KEYS: `${k3},${k2},${k1}` }
  const killed = run('cli', ['server', 'secrets', 'rotate'], env)
  await vi.waitUntil(async () => (await moved()) > 0, { timeout: 30_000, interval: 5 })
  killed.child.kill('SIGKILL')
  await killed.ended
  const done = await rotate(env.SECRETS_KEYS)
  expect(done, done.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('Key k2 is unused') })
  const sets = await db.secretSet.findMany({ where: { deploymentId: id } })
  const ring = KeyRing.parse(k3)
  expect(new Set(sets.map((set) => openSecrets(ring, set)[0]?.value)).size).toBeGreaterThanOrEqual(2000)
})

test('a key that is still needed is named, and the start still requires it', async () => {
  const { id } = await imageDeployment(app)
  const { db } = app.app.core
  const lost = await store(KeyRing.parse(newKey('lost')), id, { name: 'TOKEN', value: 'x' })
  const keys = `${newKey('k4')},${k3},${k1}`
  const again = await rotate(keys)
  expect(again.code).toBe(1)
  expect(again.stderr).toBe(
    '1 values need the key lost, which is missing. Add it after the first key, then run this command again.\n',
  )
  expect(again.stdout).toContain('Key k3 is unused')
  expect(again.stdout).not.toContain('Key lost')
  await expect(testApp({ beside: app, settings: { SECRETS_KEYS: keys } })).rejects.toThrow('need the key lost')
  await db.secretSet.delete({ where: { id: lost } })
})

test('a rotation with another database’s keys changes nothing, and servers still start', async () => {
  const { db } = app.app.core
  const before = await db.installation.findFirstOrThrow()
  const strange = await rotate(newKey('strange'))
  expect(strange.code).toBe(1)
  expect(strange.stderr).toContain(`the key ${before.keyId}, which is missing. Add it after the first key, then run`)
  expect(await db.installation.findFirstOrThrow()).toEqual(before)
})

test('the key file gets a new key that servers load before anything is encrypted with it', async () => {
  const folder = await temporaryFolder()
  const env = { DATABASE_URL: app.databaseUrl, DATA_DIR: folder.path }
  const before = await loadKeyRing({ DATA_DIR: folder.path, SECRETS_KEYS: undefined })
  const made = await serverCommand(['server', 'secrets', 'rotate', '--new-key'], env)
  expect(made, made.stderr).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Restart every server of this DATA_DIR/),
  })
  const after = await loadKeyRing({ DATA_DIR: folder.path, SECRETS_KEYS: undefined })
  expect(after.ids).toEqual([after.currentId, before.currentId])
  expect(made.stdout).toContain(after.currentId)
  const file = path.join(folder.path, 'secrets.key')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(2)
  expect(await serverCommand(['server', 'secrets', 'rotate', '--new-key'], { ...env, SECRETS_KEYS: k1 })).toMatchObject(
    {
      code: 2,
    },
  )
  await folder.remove()
})

test('the rotation covers every sealed column', () => {
  const root = new URL('../../src/domain/', import.meta.url)
  const places = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...readFileSync(new URL(file, root), 'utf8').matchAll(/`([a-z_]+\.[a-z_]+):\$\{id\}`/g)])
    .map(([, place]) => place)
  expect(places.sort()).toEqual(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort())
})
