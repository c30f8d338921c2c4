/** Logins of the command line, the machine's half: begin, wait, and pick the key up (docs/api-rules.md#logins). */
import { expect, test } from 'vitest'
import { removeLogins } from '../../src/domain/logins/login.ts'
import { testApp, useApp } from '../support/app.ts'
import { beginLogin, begunLogin, expireLogin, pollLogin } from './login-steps.ts'
import { asPage, signIn } from './support.ts'

const app = useApp(() => ({ settings: { ADDRESS_RATE_LIMIT: '0' } }))
const rest: typeof app.rest = (...call) => app.rest(...call)

const approve = (id: string, key = app.keys.deployer, body: object = {}) =>
  rest('POST', `/v2/logins/${id}/approve`, { key, body })
const db = () => app.app.core.db
/** All open logins are forgotten, so a test has the limits for itself. */
const forgetAll = () => db().login.deleteMany()

test('a machine begins a login without a credential, and the database keeps only hashes', async () => {
  const answer = await beginLogin(app)
  expect(answer.status, answer.text).toBe(201)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const { id, secret, code, url, expires_at } = answer.body
  expect(secret).toMatch(/^[\w-]{43}$/)
  expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
  expect(url).toBe(`${app.app.publicUrl()}/connect#${code}`)
  expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(590_000)
  const stored = JSON.stringify(await db().login.findUniqueOrThrow({ where: { id } }))
  for (const hidden of [secret, code, code.replace('-', '')]) expect(stored).not.toContain(hidden)
})

test.each([
  [{}, 'missing'],
  [{ name: '' }, 'string_too_short'],
  [{ name: 'a\nb' }, 'string_pattern_mismatch'],
  [{ name: 'x'.repeat(129) }, 'string_too_long'],
  [{ name: 7 }, 'string_type'],
])('a login needs a printable name, not %j', async (body, type) => {
  const { status, body: said } = await beginLogin(app, body)
  expect([status, said.detail?.[0]]).toMatchObject([422, { loc: ['body', 'name'], type }])
})

test('an approved machine gets a key that works, and its text is stored nowhere', async () => {
  const login = await begunLogin(app, 'ci-box')
  expect((await pollLogin(app, login)).body).toEqual({
    ...{ status: 'pending', key: null, api_key_id: null, workspace_id: null, role: null, expires_at: null },
  })
  await approve(login.id)
  const { status, headers, body } = await pollLogin(app, login)
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(body).toMatchObject({ status: 'approved', workspace_id: app.tenant.workspaceId, role: 'deployer' })
  expect(body.key).toMatch(/^cpk_[\w-]{43}$/)
  expect((await rest('GET', '/v2/deployments', { key: body.key })).status).toBe(200)
  expect(Math.round((Date.parse(body.expires_at) - Date.now()) / 86_400_000)).toBe(30)
  const rows = await db().$queryRaw<
    object[]
  >`SELECT to_json(l) FROM logins l UNION ALL SELECT to_json(k) FROM api_keys k`
  expect(JSON.stringify(rows)).not.toContain(body.key.slice(14))
})

test('the key has the name of the machine, the person as owner, and is in the event log', async () => {
  const login = await begunLogin(app, 'ada-desktop')
  await approve(login.id)
  const { api_key_id: id } = (await pollLogin(app, login)).body
  const approver = await db().apiKey.findFirstOrThrow({
    where: { workspaceId: app.tenant.workspaceId, role: 'deployer' },
  })
  const key = await db().apiKey.findUniqueOrThrow({ where: { id } })
  expect(key).toMatchObject({ name: 'ada-desktop', owner: approver.owner ?? approver.name, createdBy: approver.id })
  const event = await db().event.findFirstOrThrow({ where: { subjectId: id } })
  expect(event).toMatchObject({ type: 'api_key.created', actor: approver.id })
})

test('a wait ends with the approval', async () => {
  const login = await begunLogin(app)
  const began = performance.now()
  const waiting = pollLogin(app, login, '?wait=60')
  await approve(login.id)
  expect((await waiting).body.status).toBe('approved')
  expect(performance.now() - began).toBeLessThan(10_000)
})

test('a wait on another server ends with the approval', async () => {
  const beside = await testApp({ beside: app })
  try {
    const login = await begunLogin(app)
    const waiting = pollLogin(beside, login, '?wait=60')
    await approve(login.id)
    expect((await waiting).body.status).toBe('approved')
  } finally {
    await beside.close()
  }
})

test('a lost answer loses no key: each pick-up gets the same one, also two at the same moment', async () => {
  const login = await begunLogin(app)
  await approve(login.id)
  const answers = await Promise.all(Array.from({ length: 6 }, () => pollLogin(app, login)))
  const keys = new Set(answers.map(({ body }) => body.key))
  expect(keys.size).toBe(1)
  expect((await pollLogin(app, login)).body.key).toBe([...keys][0])
  const { api_key_id: id } = answers[0]!.body
  expect(await db().event.count({ where: { type: 'api_key.created', subjectId: id } })).toBe(1)
})

test('an approval in the last second leaves a minute for the pick-up', async () => {
  const login = await begunLogin(app)
  await db().$executeRaw`UPDATE logins SET expires_at = now() + interval '3 seconds' WHERE id = ${login.id}::uuid`
  const { body } = await approve(login.id)
  expect(Date.parse(body.expires_at) - Date.now()).toBeGreaterThan(50_000)
})

test('the wait says that a login was refused or has expired', async () => {
  const refused = await begunLogin(app)
  await rest('POST', `/v2/logins/${refused.id}/refuse`, { key: app.keys.deployer, body: {} })
  expect((await pollLogin(app, refused)).body).toMatchObject({ status: 'refused', key: null })
  const late = await begunLogin(app)
  await expireLogin(app, late)
  expect((await pollLogin(app, late)).body).toMatchObject({ status: 'expired', key: null })
  const unclaimed = await begunLogin(app)
  await approve(unclaimed.id)
  await expireLogin(app, unclaimed)
  expect((await pollLogin(app, unclaimed)).body).toMatchObject({ status: 'expired', key: null })
})

test('only the secret of the login reads its outcome', async () => {
  const [login, other] = [await begunLogin(app), await begunLogin(app)]
  for (const secret of [null, '', 'nonsense', login.code]) {
    const { status, body } = await pollLogin(app, { id: login.id, secret })
    expect([status, body.code]).toEqual([401, 'UNAUTHENTICATED'])
  }
  expect((await pollLogin(app, { id: other.id, secret: login.secret })).status).toBe(404)
  expect((await pollLogin(app, { id: 'x', secret: login.secret })).status).toBe(422)
  for (const query of ['?wait=61', '?wait=-1', '?wait=soon', '?secret=x'])
    expect((await pollLogin(app, login, query)).status).toBe(422)
  // an admin's key is no secret of a login
  expect((await rest('GET', `/v2/logins/${login.id}`)).status).toBe(401)
})

test('a key of a login ends with the key that approved it, at any depth', async () => {
  const parent = await rest('POST', '/graphql', {
    body: {
      query:
        'mutation { createApiKey(input: { name: "parent", role: deployer }) { ... on CreateApiKeySuccess { key apiKey { id } } } }',
    },
  })
  const { key, apiKey } = parent.body.data.createApiKey
  const first = await begunLogin(app)
  await approve(first.id, key)
  const child = (await pollLogin(app, first)).body.key
  const second = await begunLogin(app)
  await approve(second.id, child)
  const grandchild = (await pollLogin(app, second)).body.key
  const third = await begunLogin(app)
  await approve(third.id, key)
  const revoke = `mutation { revokeApiKey(input: { apiKeyId: "${apiKey.id}" }) { __typename } }`
  await rest('POST', '/graphql', { body: { query: revoke } })
  for (const gone of [key, child, grandchild])
    expect((await rest('GET', '/v2/deployments', { key: gone })).status).toBe(401)
  // it was approved, but not picked up
  expect((await pollLogin(app, third)).body).toMatchObject({ status: 'refused', key: null })
  expect((await pollLogin(app, first)).body).toMatchObject({ status: 'refused', key: null })
})

test('a key of a login never outlives an approver’s key that expires', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const made = await rest('POST', '/graphql', {
    body: {
      query: `mutation { createApiKey(input: { name: "short", role: deployer, expiresAt: "${expiresAt}" }) { ... on CreateApiKeySuccess { key } } }`,
    },
  })
  const login = await begunLogin(app)
  await approve(login.id, made.body.data.createApiKey.key)
  expect((await pollLogin(app, login)).body.expires_at).toBe(expiresAt)
})

test('the machine and the person may revoke the key, and no other deployer', async () => {
  const revoke = async (id: string, call: object) => {
    const query = `mutation { revokeApiKey(input: { apiKeyId: "${id}" }) { __typename ... on RevokeApiKeySuccess { apiKey { revokedAt } } ... on Error { code } } }`
    const { body } = await rest('POST', '/graphql', { ...call, body: { query } })
    const { apiKey, code } = body.data?.revokeApiKey ?? { code: body.errors[0].extensions.code }
    return apiKey?.revokedAt ? 'revoked' : code
  }
  const keyOf = async (approver: string) => {
    const login = await begunLogin(app)
    await approve(login.id, approver)
    return (await pollLogin(app, login)).body
  }
  const own = await keyOf(app.keys.deployer)
  expect(await revoke(own.api_key_id, { key: own.key })).toBe('revoked')
  expect(await revoke(own.api_key_id, { key: own.key })).toBe('UNAUTHENTICATED')
  const page = await signIn(app, { api_key: app.keys.deployer })
  const mine = await keyOf(app.keys.deployer)
  expect(await revoke(mine.api_key_id, { key: app.keys.viewer })).toBe('FORBIDDEN')
  expect(await revoke(mine.api_key_id, { key: app.other.keys.deployer })).toBe('FORBIDDEN')
  expect(await revoke(mine.api_key_id, asPage(page))).toBe('revoked')
  const admins = await keyOf(app.keys.admin)
  expect(await revoke(admins.api_key_id, { key: app.keys.deployer })).toBe('FORBIDDEN')
  expect(await revoke(admins.api_key_id, {})).toBe('revoked')
})

test('an address has at most 20 open logins, also with concurrent calls, and decided ones make room', async () => {
  await forgetAll()
  const answers = await Promise.all(Array.from({ length: 25 }, () => beginLogin(app)))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(20)
  const refused = answers.find(({ status }) => status !== 201)!
  expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(500)
  const { id } = answers.find(({ status }) => status === 201)!.body
  await rest('POST', `/v2/logins/${id}/refuse`, { key: app.keys.deployer, body: {} })
  expect((await beginLogin(app)).status).toBe(201)
  await forgetAll()
})

test('the installation has at most 1000 open logins', async () => {
  await forgetAll()
  await db().$executeRaw`
    INSERT INTO logins (id, name, address, secret_hash, code_hash, key_salt, expires_at)
    SELECT gen_random_uuid(), 'x', '192.0.2.' || n, 'secret' || n, 'code' || n, 'salt', now() + interval '9 minutes'
    FROM generate_series(1, 1000) AS n`
  expect((await beginLogin(app)).body).toMatchObject({ code: 'RATE_LIMITED' })
  await db().$executeRaw`UPDATE logins SET expires_at = now() - interval '1 second'`
  expect((await beginLogin(app)).status).toBe(201)
  await forgetAll()
})

test('each call is charged to the address', async () => {
  const strict = await testApp({ settings: { ADDRESS_RATE_LIMIT: '1', ADDRESS_RATE_LIMIT_BURST: '3' } })
  try {
    const statuses: number[] = []
    const login = await begunLogin(strict)
    for (let call = 0; call < 3; call++) statuses.push((await pollLogin(strict, login)).status)
    expect(statuses).toEqual([200, 200, 429])
    expect((await beginLogin(strict)).status).toBe(429)
  } finally {
    await strict.close()
  }
})

test('ended logins are removed an hour after they end', async () => {
  const [old, recent] = [await begunLogin(app), await begunLogin(app)]
  await db().$executeRaw`UPDATE logins SET expires_at = now() - interval '61 minutes' WHERE id = ${old.id}::uuid`
  await expireLogin(app, recent)
  expect(await removeLogins(db(), 100)).toBe(1)
  expect((await pollLogin(app, old)).status).toBe(401)
  expect((await pollLogin(app, recent)).body.status).toBe('expired')
})

test('without a database every call of a login is a 503, and the machine asks again', async () => {
  const gone = await testApp()
  try {
    const login = await begunLogin(gone)
    await gone.dropDatabase()
    for (const answer of [await beginLogin(gone), await pollLogin(gone, login)])
      expect([answer.status, answer.body.code]).toEqual([503, 'UNAVAILABLE'])
  } finally {
    await gone.close()
  }
})
