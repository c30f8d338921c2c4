/** Deleted tokens are revoked at their provider (RFC 7009), immediately or later, by any server. */
import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import { openProviderAccess, redirectUriOf, sealClientSecret } from '../../src/domain/oauth/tokens/provider-access.ts'
import { revokeDue } from '../../src/domain/oauth/tokens/revoke.ts'
import type { Core } from '../../src/domain/transaction/context.ts'
import type { OAuthToken } from '../../src/generated/prisma/client.ts'
import { testApp, useApp } from '../support/app.ts'
import { asAdmin } from '../support/database.ts'
import { type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import { storedConnection, storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { type RevocationServer, startRevocationServer } from '../support/revocation-server.ts'
import { LOCAL, oauthProvider } from './support.ts'

const lines: string[] = []
const log = createLogger('debug', { write: (line: string) => void lines.push(line) })
// rounds of its jobs run only when a test starts them
const app = useApp(() => ({ settings: { ...LOCAL, SWEEP_SECONDS: '3600' }, overrides: { log } }))
let standIn: RevocationServer
let core: Core
const never = new AbortController().signal
setMaxListeners(0, never)
beforeAll(async () => {
  core = app.app.core
  standIn = await startRevocationServer()
  return standIn.close
})
afterEach(async () => {
  standIn.answer = 200
  standIn.release()
  await core.db.tokenRevocation.deleteMany()
})

const SECRET = 'canary-client-secret'

/** A token of the stand-in, with recognisable content: `canary-access-…`, `canary-refresh-…`. */
async function tokenAt(server: RevocationServer, more: { refreshToken?: null; row?: { tokenUrl: string } } = {}) {
  const id = randomUUID()
  const provider = await storedProvider(app, {
    ...{ id, tokenUrl: server.tokenUrl, authUrl: `${server.url}/authorize` },
    ...{ tokenEndpointAuthMethod: 'client_secret_post', clientSecret: sealClientSecret(core.keyring, id, SECRET) },
  })
  const content = { accessToken: `canary-access-${id}`, refreshToken: `canary-refresh-${id}` }
  const token = await storedToken(app, {
    provider,
    content: { ...content, ...('refreshToken' in more && { refreshToken: null }) },
    row: more.row,
  })
  return { provider, token, ...content }
}
const remove = (token: Pick<OAuthToken, 'id'>, signal?: AbortSignal) =>
  fetch(`${app.url}/v2/auth/tokens/${token.id}`, {
    ...{ method: 'DELETE', headers: { 'x-api-key': app.keys.deployer } },
    ...(signal && { signal }),
  })
const removed = async (token: Pick<OAuthToken, 'id'>) => expect((await remove(token)).status).toBe(204)
const left = () => core.db.tokenRevocation.findMany()
const seen = (...tokens: string[]) => standIn.seen.filter(({ token }) => tokens.includes(token))
/** Makes the next attempt due. */
const due = () => core.db.tokenRevocation.updateMany({ data: { notBefore: new Date(Date.now() - 1000) } })

describe('at a real provider', () => {
  let server: OAuthServer
  beforeAll(async () => {
    server = await startOAuthServer()
  })
  afterAll(() => server.close())

  test.each(['none', 'client_secret_basic', 'client_secret_post'] as const)(
    'neither a deleted token nor its refresh token works (%s)',
    async (method) => {
      const { id, providerId } = await oauthProvider(app, server, { method })
      const access = openProviderAccess(core.keyring, await core.db.oAuthProvider.findUniqueOrThrow({ where: { id } }))
      const [redirectUri, state] = [redirectUriOf(core, { id: '', providerId, isDynamicClient: false }), randomUUID()]
      const codeVerifier = await core.oauth.codeVerifier()
      const asked = { redirectUri, state, codeVerifier, scopes: ['openid', 'read'] }
      const back = await server.visit(await core.oauth.authorizationUrl(access, asked))
      const callback = new URL(back).searchParams
      const { accessToken, refreshToken } = await core.oauth.exchange(access, { ...asked, callback })
      const token = await storedToken(app, { provider: { id }, content: { accessToken, refreshToken } })
      const active = () => Promise.all([server.isActive(accessToken), server.isActive(refreshToken!)])
      expect(await active()).toEqual([true, true])
      await removed(token)
      expect(await active()).toEqual([false, false])
      expect(await left()).toEqual([])
    },
  )
})

describe('the provider gets', () => {
  test('the refresh token first, then the access token', async () => {
    const { token, accessToken, refreshToken } = await tokenAt(standIn)
    await removed(token)
    expect(seen(accessToken, refreshToken)).toEqual([
      { token: refreshToken, hint: 'refresh_token' },
      { token: accessToken, hint: 'access_token' },
    ])
    expect(await left()).toEqual([])
  })

  test('only the access token if there is no other', async () => {
    const { token, accessToken, refreshToken } = await tokenAt(standIn, { refreshToken: null })
    await removed(token)
    expect(seen(accessToken, refreshToken)).toEqual([{ token: accessToken, hint: 'access_token' }])
  })

  test('the request at the stored endpoint, without another discovery', async () => {
    const silent = await startRevocationServer({ publishes: false })
    const { provider, token, accessToken } = await tokenAt(silent)
    await core.db.oAuthProvider.update({
      where: { id: provider.id },
      data: { metadataReadAt: new Date(), revocationUrl: silent.revocationUrl },
    })
    await removed(token)
    expect(silent.seen).toContainEqual({ token: accessToken, hint: 'access_token' })
    await silent.close()
  })

  test('no request if it publishes no revocation endpoint', async () => {
    const silent = await startRevocationServer({ publishes: false })
    const [unknown, known] = [await tokenAt(silent), await tokenAt(silent)]
    await core.db.oAuthProvider.update({ where: { id: known.provider.id }, data: { metadataReadAt: new Date() } })
    for (const { token } of [unknown, known]) await removed(token)
    expect([silent.seen, await left()]).toEqual([[], []])
    await silent.close()
  })

  test('no request if it did not issue the token', async () => {
    const { token, accessToken, refreshToken } = await tokenAt(standIn, {
      row: { tokenUrl: 'https://before.example/token' },
    })
    await removed(token)
    expect([seen(accessToken, refreshToken), await left()]).toEqual([[], []])
  })
})

describe('while the provider is unreachable', () => {
  test('the token is deleted, and another server revokes it later, even after the provider’s deletion', async () => {
    standIn.answer = 503
    const { provider, token, accessToken, refreshToken } = await tokenAt(standIn)
    await removed(token)
    expect(seen(accessToken, refreshToken)).toEqual([{ token: refreshToken, hint: 'refresh_token' }])
    expect(await left()).toHaveLength(1)
    const gone = await app.rest('DELETE', `/v2/auth/providers/${provider.providerId}`)
    expect(gone.status, gone.text).toBeLessThan(300)

    standIn.answer = 200
    await due()
    const another = await testApp({ beside: app, settings: LOCAL })
    await expect.poll(left).toEqual([])
    expect(seen(accessToken, refreshToken).slice(1)).toEqual([
      { token: refreshToken, hint: 'refresh_token' },
      { token: accessToken, hint: 'access_token' },
    ])
    await another.close()
  })

  test('the delay between attempts grows, and only one server tries', async () => {
    standIn.answer = 500
    const { token, refreshToken } = await tokenAt(standIn)
    await removed(token)
    const pauses: number[] = []
    for (let i = 0; i < 4; i++) {
      const [row] = await left()
      pauses.push(Math.round((row!.notBefore.getTime() - Date.now()) / 1000))
      await due()
      await Promise.all([revokeDue(core, never), revokeDue(core, never)])
    }
    expect(seen(refreshToken)).toHaveLength(5)
    for (const [i, pause] of pauses.entries()) expect(Math.abs(pause - 10 * 2 ** i)).toBeLessThan(5)
  })

  test('another server replaces a server that died during the revocation', async () => {
    standIn.answer = 'hang'
    const { token, accessToken, refreshToken } = await tokenAt(standIn)
    const answer = remove(token)
    await standIn.reached(refreshToken)
    // the holder has a minute in which no other server tries
    await revokeDue(core, never)
    expect(seen(refreshToken)).toHaveLength(1)
    standIn.answer = 200
    await due()
    await revokeDue(core, never)
    expect(seen(accessToken)).toHaveLength(1)
    expect(await left()).toEqual([])
    standIn.release()
    expect((await answer).status).toBe(204)
  })

  test('a stopping server releases its revocations immediately', async () => {
    standIn.answer = 503
    const { token, refreshToken } = await tokenAt(standIn)
    await removed(token)
    standIn.answer = 'hang'
    standIn.seen.length = 0
    await due()
    const stop = new AbortController()
    const round = revokeDue(core, stop.signal)
    await standIn.reached(refreshToken)
    stop.abort()
    await round
    const [row] = await left()
    expect(row!.notBefore.getTime()).toBeLessThanOrEqual(Date.now())
  })

  test('the revocation is given up after a day, with one log line', async () => {
    standIn.answer = 503
    const { provider, token } = await tokenAt(standIn)
    await removed(token)
    await due()
    await core.db.$executeRaw`UPDATE token_revocations SET created_at = now() - interval '24 hours 1 minute'`
    lines.length = 0
    await revokeDue(core, never)
    expect(await left()).toEqual([])
    expect(lines.map((line) => JSON.parse(line)).filter(({ level }) => level !== 'info')).toMatchObject([
      { level: 'warn', provider: provider.providerId, oauthTokenId: token.id, failure: expect.stringContaining('503') },
    ])
  })
})

describe('while the provider does not respond', () => {
  test('the deleting call waits a few seconds at most', async () => {
    standIn.answer = 'hang'
    const { token } = await tokenAt(standIn)
    const began = performance.now()
    await removed(token)
    expect(performance.now() - began).toBeLessThan(9000)
    expect(await left()).toHaveLength(1)
  }, 15_000)

  test('a client that disconnects changes nothing', async () => {
    standIn.answer = 'hang'
    const { token, accessToken, refreshToken } = await tokenAt(standIn)
    const client = new AbortController()
    const answer = remove(token, client.signal)
    await standIn.reached(refreshToken)
    client.abort()
    await expect(answer).rejects.toThrow()
    standIn.answer = 200
    standIn.release()
    await standIn.reached(accessToken)
    await expect.poll(left).toEqual([])
  })
})

test('two servers send each of many revocations once', async () => {
  standIn.answer = 503
  const many = await Promise.all(Array.from({ length: 20 }, () => tokenAt(standIn)))
  await Promise.all(many.map(({ token }) => removed(token)))
  standIn.answer = 200
  standIn.seen.length = 0
  await due()
  await Promise.all([revokeDue(core, never), revokeDue(core, never)])
  expect(await left()).toEqual([])
  const told = standIn.seen.map(({ token }) => token).sort()
  expect(told).toEqual(many.flatMap(({ accessToken, refreshToken }) => [accessToken, refreshToken]).sort())
})

test('no token or secret is readable in a row, an event, the log or a response', async () => {
  standIn.answer = 503
  lines.length = 0
  const { token } = await tokenAt(standIn)
  await storedConnection(app, token)
  const answer = await remove(token)
  await due()
  await revokeDue(core, never)
  expect(await left()).toHaveLength(1)
  const dump = await asAdmin(app.databaseUrl, async (client) => {
    const { rows: tables } = await client.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
    const texts: string[] = []
    for (const { tablename } of tables) {
      const { rows } = await client.query(`SELECT t::text AS row FROM "${tablename}" t`)
      texts.push(...rows.map(({ row }) => row))
    }
    return texts.join('\n')
  })
  expect(dump).toContain(token.id)
  for (const text of [dump, lines.join('\n'), await answer.text()]) expect(text).not.toContain('canary')
})
