/** The source of the key ring, and that a server without the right keys does not start (docs/deployments.md#secrets). */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app/app.ts'
import { checkKeyRing, loadKeyRing } from '../../src/app/keyring-file.ts'
import { createLogger } from '../../src/app/logger.ts'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { queueRevocation } from '../../src/domain/oauth/tokens/revoke.ts'
import { transaction } from '../../src/domain/transaction/context.ts'
import { ConfigError, readConfig } from '../../src/platform/config/config.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'
import { storedToken } from '../support/oauth-tokens.ts'
import { temporaryFolder } from '../support/process.ts'

const newKey = () => randomBytes(32).toString('base64')

describe('the key file', () => {
  test('is created once and readable only by its owner, even if several servers start concurrently', async () => {
    const folder = await temporaryFolder()
    const DATA_DIR = path.join(folder.path, 'not', 'there', 'yet')
    const load = () => loadKeyRing({ DATA_DIR, SECRETS_KEYS: undefined })
    const rings = await Promise.all(Array.from({ length: 10 }, load))
    expect(new Set(rings.map((ring) => ring.currentId)).size).toBe(1)
    const sealed = rings[0]!.wrap(Buffer.from('data key'), 'context')
    for (const ring of [...rings, await load()]) {
      expect(ring.unwrap(ring.currentId, sealed, 'context').toString()).toBe('data key')
    }
    expect(await readdir(DATA_DIR)).toEqual(['secrets.key'])
    expect((await stat(path.join(DATA_DIR, 'secrets.key'))).mode & 0o777).toBe(0o600)
    await folder.remove()
  })

  test('is not used if it is damaged', async () => {
    const folder = await temporaryFolder()
    await writeFile(path.join(folder.path, 'secrets.key'), 'file-1:tooshort\n')
    const loading = loadKeyRing({ DATA_DIR: folder.path, SECRETS_KEYS: undefined })
    await expect(loading).rejects.toThrow(ConfigError)
    await expect(loading).rejects.toThrow(/secrets\.key can't be used.*SECRETS_KEYS/)
    expect(await readFile(path.join(folder.path, 'secrets.key'), 'utf8')).toBe('file-1:tooshort\n')
    await folder.remove()
  })

  test('is not needed with SECRETS_KEYS', async () => {
    const folder = await temporaryFolder()
    const ring = await loadKeyRing({ DATA_DIR: folder.path, SECRETS_KEYS: `b:${newKey()},a:${newKey()}` })
    expect([ring.currentId, ring.has('a')]).toEqual(['b', true])
    expect(await readdir(folder.path)).toEqual([])
    await folder.remove()
  })
})

describe('a server', () => {
  const old = `old:${newKey()}`
  let app: TestApp
  let deploymentId: string
  beforeAll(async () => {
    app = await testApp({ settings: { SECRETS_KEYS: old } })
    deploymentId = (await imageDeployment(app, { secrets: [{ name: 'TOKEN', value: 's3cret-value' }] })).id
  })
  afterAll(() => app.close())

  const start = (SECRETS_KEYS: string) =>
    buildApp(
      readConfig({ PORT: '0', WORKER: 'off', DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir, SECRETS_KEYS }),
      { log: createLogger('silent') },
    )

  test('does not start without the key that the first start encrypted with', async () => {
    const starting = start(`another:${newKey()}`)
    await expect(starting).rejects.toThrow(ConfigError)
    await expect(starting).rejects.toThrow(/need the key old: put it into SECRETS_KEYS/)
  })

  test('does not start with a different key under the same id', async () => {
    await expect(start(`old:${newKey()}`)).rejects.toThrow(/SECRETS_KEYS has another key under the id old/)
  })

  test('reads values of an older key, and needs both keys from then on', async () => {
    const both = `new:${newKey()},${old}`
    const rotated = await testApp({ beside: app, settings: { SECRETS_KEYS: both } })
    const read = await rotated.rest('GET', `/v2/deployments/${deploymentId}`)
    expect(read.body.secrets).toEqual([{ name: 'TOKEN', value: 's3cret-value' }])
    await imageDeployment(rotated, { secrets: [{ name: 'TOKEN', value: 'newer' }] })
    await rotated.close()
    await expect(start(old)).rejects.toThrow(/need the key new: put it into SECRETS_KEYS/)
    await (await start(both)).close()
  })
})

describe('a server with OAuth data only', () => {
  const old = `old:${newKey()}`
  let app: TestApp
  beforeAll(async () => {
    app = await testApp({ settings: { SECRETS_KEYS: old } })
    // so that this does not prevent the start
    await app.app.core.db.installation.deleteMany()
  })
  afterAll(() => app.close())

  const check = (SECRETS_KEYS: string) => checkKeyRing(app.app.core.db, KeyRing.parse(SECRETS_KEYS))
  /** Stores one sealed value, which needs the key that sealed it. */
  async function needsItsKey(): Promise<void> {
    await check(old)
    await check(`new:${newKey()},${old}`)
    await expect(check(`another:${newKey()}`)).rejects.toThrow(/^This database's secrets need the key old: put it into/)
    await expect(check(`old:${newKey()}`)).rejects.toThrow(/^SECRETS_KEYS has another key under the id old/)
  }

  test('needs the key of a provider’s client secret, of a token, and of a token that awaits revocation', async () => {
    const { core } = app.app
    await check(`another:${newKey()}`)
    const { db, keyring } = core
    const made = await app.rest('POST', '/v2/auth/providers', {
      body: {
        provider_id: 'example',
        name: 'Example',
        client_id: 'our-client',
        client_secret: 's3cret',
        auth_url: 'https://accounts.example.com/authorize',
        token_url: 'https://accounts.example.com/token',
      },
    })
    expect(made.status, made.text).toBe(200)
    await needsItsKey()

    const provider = await db.oAuthProvider.update({ where: { id: made.body.id }, data: { clientSecret: null } })
    await check(`another:${newKey()}`)
    const content = { accessToken: 'a', tokenType: 'bearer', refreshToken: 'r' }
    const token = await storedToken(app, { provider, content })
    await needsItsKey()

    await db.oAuthToken.delete({ where: { id: token.id } })
    await check(`another:${newKey()}`)
    await transaction(core, (tx) => queueRevocation(tx, keyring, provider, token, content))
    await needsItsKey()
  })
})
