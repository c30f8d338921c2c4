/**
 * After every operation on a provider and its tokens, secrets are only in the responses that are meant to contain them: not in
 * other responses, the log, the metrics or a database dump.
 */
import { randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import { beforeAll, expect, test } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import { type Answer, type Call, newKey, useApp } from '../support/app.ts'
import { authenticate, LOCAL, oauthProvider, openPage, useOAuthServer } from './support.ts'

const AGENT = 'reader'

let logged = ''
const sink = new Writable({
  write(chunk, _encoding, done) {
    logged += chunk
    done()
  },
})
const server = useOAuthServer()
const app = useApp(() => ({ settings: LOCAL, overrides: { log: createLogger('debug', sink) } }))
let agentKey: string
/** all responses except the agent's and the authorization URLs */
const answers: string[] = []
/** secrets that must not appear */
const canaries = new Set<string>()
beforeAll(async () => {
  agentKey = await newKey(app.app.core, { ...app.tenant, role: 'agent', agentId: AGENT })
})

async function rest(method: string, path: string, call?: Call & { body?: unknown }): Promise<Answer> {
  const answer = await app.rest(method, path, call)
  answers.push(answer.text)
  return answer
}

async function gql(query: string): Promise<void> {
  answers.push((await app.gql(query, {}, { key: app.keys.deployer })).text)
}

/** The agent requests its token, which then is a canary as well. */
async function asAgent(providerId: string): Promise<Answer> {
  const path = `/v2/auth/agents/${AGENT}/providers/${providerId}/access-token`
  const answer = await app.rest('POST', path, { key: agentKey, body: { scopes: ['read'] } })
  if (answer.status === 200) canaries.add(answer.body.access_token)
  else answers.push(answer.text)
  return answer
}

const backdate = () => app.app.core.db.$executeRaw`
  UPDATE oauth_tokens SET expires_at = now() - interval '1 minute', refresh_after = NULL`

/** Every row of every table, as text. */
async function dump(): Promise<string> {
  const { db } = app.app.core
  const tables = await db.$queryRaw<{ name: string }[]>`
    SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
  const texts = await Promise.all(
    tables.map(({ name }) => db.$queryRawUnsafe<{ row: string }[]>(`SELECT t::text AS row FROM "${name}" t`)),
  )
  return texts.flatMap((rows) => rows.map(({ row }) => row)).join('\n')
}

/** The text and its encodings: in a URL, as base64, as the bytea of a dump. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [
    secret,
    encodeURIComponent(secret),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ]
}

test('secrets and tokens appear only in the responses that are meant to contain them', async () => {
  const key = app.keys.deployer
  const secret = `canary-secret-${randomBytes(24).toString('base64url')}`
  const registered = await oauthProvider(app, server, { providerId: 'listed' })
  canaries.add(registered.clientSecret!)
  canaries.add(secret)

  // the provider's life, including a refused secret
  const body = {
    provider_id: 'acme',
    name: 'Acme',
    client_id: 'client',
    client_secret: secret,
    auth_url: server.authUrl,
    token_url: server.tokenUrl,
  }
  expect((await rest('POST', '/v2/auth/providers', { body })).status).toBe(200)
  expect((await rest('POST', '/v2/auth/providers', { body })).status).toBe(409)
  expect((await rest('POST', '/v2/auth/providers', { body: { ...body, client_secret: `${secret}\n` } })).status).toBe(
    422,
  )
  expect((await rest('POST', '/v2/auth/providers', { body: { ...body, client_secret: [secret] } })).status).toBe(422)
  await rest('PATCH', '/v2/auth/providers/acme', { body: { client_secret: secret, name: 'Acme again' } })
  await rest('GET', '/v2/auth/providers')
  await rest('GET', '/v2/auth/providers/acme')
  await rest('DELETE', '/v2/auth/providers/acme')

  // consent, a refused code, a valid code and a repeated one
  const started = async () => {
    const asked = await authenticate(app, { provider: registered, key, agentId: AGENT, forceNew: true })
    expect(asked).toMatchObject({ status: 200 })
    const url = new URL(asked.body.url)
    canaries.add(url.searchParams.get('state')!)
    return asked.body as { auth_id: string; url: string }
  }
  const comesBack = async (url: string) => {
    const back = await server.visit(url)
    canaries.add(new URL(back).searchParams.get('code')!)
    const page = await openPage(back)
    answers.push(page.text)
    return { back, page }
  }
  const refused = await started()
  server.next('html')
  expect((await comesBack(refused.url)).page.status).toBe(502)
  await rest('GET', `/v2/auth/wait/${refused.auth_id}?timeout=0`, { key })
  const good = await started()
  const { back, page } = await comesBack(good.url)
  expect(page.status).toBe(200)
  answers.push((await openPage(back)).text)
  expect((await rest('GET', `/v2/auth/wait/${good.auth_id}?timeout=0`, { key })).body.status).toBe('completed')

  // the token's life: used, refreshed, refused, refreshed without success
  expect((await asAgent('listed')).status).toBe(200)
  await backdate()
  expect((await asAgent('listed')).status).toBe(200)
  for (const what of [
    '500',
    'html',
    { status: 400, body: `{"error":"${secret}","error_description":"${secret}"}` },
  ] as const) {
    await backdate()
    server.next(what)
    expect((await asAgent('listed')).status).toBe(502)
  }
  const [token] = (await rest('GET', '/v2/auth/tokens', { key })).body
  await rest('PATCH', `/v2/auth/tokens/${token.id}/metadata`, { key, body: { label: 'mine', is_default: true } })
  await rest('GET', `/v2/auth/agents/${AGENT}/connections`, { key })
  await gql('{ oauthProviders { nodes { id providerId clientId name } } oauthTokens { nodes { id scopes } } }')
  await gql(
    `{ connections(agentId: "${AGENT}") { nodes { id agentId scopes } } node(id: "${token.id}") { id __typename } }`,
  )
  await backdate()
  server.next({ status: 400, body: '{"error":"invalid_grant"}', type: 'application/json' })
  expect((await asAgent('listed')).body.code).toBe('TOKEN_EXPIRED')
  for (const { code, refreshToken } of server.tokenRequests) {
    if (code) canaries.add(code)
    if (refreshToken) canaries.add(refreshToken)
  }
  const before = await dump()
  expect((await rest('DELETE', `/v2/auth/tokens/${token.id}`, { key })).status).toBe(204)
  expect((await rest('DELETE', '/v2/auth/providers/listed')).status).toBe(200)

  const metrics = await (await fetch(`${app.url}/metrics`)).text()
  const places = { answers: answers.join('\n'), log: logged, metrics, before, after: await dump() }
  expect(canaries.size).toBeGreaterThan(8)
  expect(logged).toContain('a token could not be refreshed')
  expect(before).toContain(token.id)
  for (const [place, text] of Object.entries(places)) {
    const found = [...canaries].filter((canary) => spellings(canary).some((spelling) => text.includes(spelling)))
    expect(found, `in the ${place}`).toEqual([])
  }
})
