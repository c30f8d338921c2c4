/**
 * No secret is logged, stored in clear text or quoted in an error (docs/deployments.md#secrets): canaries go through every
 * path.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import { connectDatabase } from '../../src/platform/postgres/client.ts'
import { asAdmin, type TestDatabase, testDatabase } from '../support/database.ts'
import { imageBody } from '../support/factories.ts'
import { type RunningServer, startServer, temporaryFolder } from '../support/process.ts'

vi.setConfig({ testTimeout: 60_000 })

function logged(fields: object): string {
  const lines: string[] = []
  createLogger('debug', { write: (line) => lines.push(line) }).info(fields, 'a line')
  return lines.join('')
}

describe('a log line', () => {
  test('has no field that holds secrets, at any depth', () => {
    const line = logged({
      headers: { 'X-Api-Key': 'canary', authorization: 'Bearer canary', cookie: 'canary', accept: 'json' },
      request: {
        input: { secrets: [{ name: 'TOKEN', value: 'canary' }], list: [{ password: 'canary', key: 'canary' }] },
      },
      token: 'canary',
    })
    expect(line).not.toContain('canary')
    expect(line).toContain('"accept":"json"')
  })

  test('has no passwords of URLs and no API keys in its texts', () => {
    const line = logged({
      url: 'postgresql://someone:canary@db.example.com/x',
      err: new Error(`no connection to redis://:canary@cache, with cpk_${'canary'.repeat(8)}`),
    })
    expect(line).not.toContain('canary')
    expect(line).toContain('db.example.com')
  })

  test('has an error’s description, without properties added by a driver', () => {
    const cause = Object.assign(new Error('the reason'), { parameters: ['canary'] })
    const error = Object.assign(new Error('it failed', { cause }), { code: '23514', detail: 'Failing row: canary' })
    const line = JSON.parse(logged({ err: error }))
    expect(line.err).toMatchObject({ message: 'it failed', code: '23514', cause: { message: 'the reason' } })
    expect(line.err.stack).toContain('log.test.ts')
    expect(JSON.stringify(line)).not.toContain('canary')
  })
})

test('an invalid database call is logged without its values', async () => {
  const database = await testDatabase()
  const { requests, close } = connectDatabase({ url: database.url, poolSize: 2 })
  const wrong = requests.db.apiKey.create({ data: { name: 'canary', hash: 'canary' } as never })
  const line = await wrong.catch((error: unknown) => logged({ err: error }))
  expect(line).toContain('is missing')
  expect(line).not.toContain('canary')
  await close()
  await database.drop()
})

describe('a server at the debug level', () => {
  const canary = `canary-${randomUUID()}`
  const adminKey = `operators-key-${canary}`
  let database: TestDatabase
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  let server: RunningServer
  /** responses of failed calls */
  const refusals: string[] = []
  beforeAll(async () => {
    database = await testDatabase()
    folder = await temporaryFolder()
    server = await startServer({
      DATABASE_URL: database.url,
      DATA_DIR: folder.path,
      CONTROL_PLANE_API_KEY: adminKey,
      LOG_LEVEL: 'debug',
    })
  })
  afterAll(async () => {
    server.child.kill('SIGKILL')
    await server.ended
    await database.drop()
    await folder.remove()
  })

  async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        'x-api-key': adminKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok || text.includes('"errors"')) refusals.push(text)
    return { status: response.status, text }
  }
  const gql = (query: string, variables?: object) => call('POST', '/graphql', { query, variables })
  const secrets = [{ name: 'TOKEN', value: canary }]
  const CREATE = `mutation ($input: CreateDeploymentInput!) { createDeployment(input: $input) { __typename } }`
  const gqlInput = () => ({
    name: `image-${randomUUID()}`,
    source: 'external_container',
    sourceConfig: {},
    sourceRevisionConfig: { imageUri: 'registry.example.com/agent:1' },
    secrets,
  })

  test('never reveals the canaries in any operation', async () => {
    const made = await call('POST', '/v2/deployments', imageBody({ secrets }))
    expect(made.status).toBe(201)
    const { id } = JSON.parse(made.text)
    await call('PATCH', `/v2/deployments/${id}`, { secrets: [...secrets, { name: 'OTHER', value: canary }] })
    await call('PATCH', `/v2/deployments/${id}/secrets`, { set: [{ name: 'THIRD', value: canary }], unset: ['OTHER'] })
    const setByName = { deploymentId: id, set: [{ name: 'FOURTH', value: canary }] }
    const SET = `mutation ($input: SetSecretsInput!) { setSecrets(input: $input) { __typename } }`
    expect((await gql(SET, { input: setByName })).text).toContain('SetSecretsSuccess')
    // the only responses with the secret: for callers with the right to read it
    expect((await call('POST', `/v2/deployments/${id}/secrets/THIRD/reveal`)).text).toContain(canary)
    const REVEAL = `mutation ($input: RevealSecretInput!) { revealSecret(input: $input) { ... on RevealSecretSuccess { value } } }`
    expect((await gql(REVEAL, { input: { deploymentId: id, name: 'FOURTH' } })).text).toContain(canary)
    expect((await call('GET', '/v2/events')).text).not.toContain(canary)
    expect((await call('GET', '/metrics')).text).not.toContain(canary)
    await call('PATCH', `/v2/deployments/${id}/secrets`, { set: [{ name: '1 bad', value: canary }], unset: ['NONE'] })
    await call('PATCH', `/v2/deployments/${id}/secrets`, { set: [{ name: 'TOKEN', value: [canary] }] })
    await gql(SET, { input: { ...setByName, set: [{ name: 'PORT', value: canary }] } })
    await call('GET', `/v2/deployments?name_contains=${canary}&token=${canary}`)
    expect(await gql(CREATE, { input: gqlInput() })).toMatchObject({
      status: 200,
      text: expect.stringContaining('data'),
    })

    // errors of the caller
    await call('POST', '/v2/deployments', imageBody({ secrets: [{ name: '1 bad name', value: canary }] }))
    await call('POST', '/v2/deployments', imageBody({ secrets: [...secrets, ...secrets] }))
    await call('POST', '/v2/deployments', imageBody({ secrets: [{ name: 'TOKEN', value: [canary] }] }))
    await call('POST', '/v2/deployments', `{"secrets": [{"name": "TOKEN", "value": "${canary}"}`)
    await call('POST', '/v2/deployments', `{"secrets": ${canary}}`)
    await call('POST', '/v2/deployments', `{"value": "${canary}"}`, { 'content-type': 'text/plain' })
    await call('POST', '/v2/deployments', imageBody({ secrets }), { 'x-tenant-id': canary })
    await call('POST', '/v2/deployments', imageBody({ secrets }), { 'x-api-key': `wrong-${canary}` })
    await call('GET', '/v2/deployments', undefined, { 'x-api-key': '', authorization: `Bearer wrong-${canary}` })
    await gql(CREATE, { input: { ...gqlInput(), secrets: [{ name: 'TOKEN', value: [canary] }] } })
    await gql(CREATE, { input: { ...gqlInput(), secrets: [{ name: 'TOKEN', value: { deep: canary } }] } })
    await gql(CREATE, { input: { ...gqlInput(), secrets: [{ name: '1 bad name', value: canary }] } })
    await gql(CREATE, { input: { ...gqlInput(), unknown: canary } })
    const literal = (value: string) =>
      `mutation { createDeployment(input: { name: "x", source: external_container, sourceConfig: {},
        sourceRevisionConfig: {}, secrets: ${value} }) { __typename } }`
    await gql(literal(`[{ name: "TOKEN", value: ["${canary}"] }]`))
    await gql(literal(`[{ name: "TOKEN", value: { deep: "${canary}" } }]`))
    await gql(literal(`"${canary}"`))
    await gql(literal(`[{ name: "TOKEN" "${canary}" }]`))
    await gql(literal(`[{ name: "TOKEN", value: "${canary}`))

    // errors of the server: the database refuses
    await asAdmin(database.url, (admin) =>
      admin.query('ALTER TABLE secret_sets ADD CONSTRAINT broken CHECK (false) NOT VALID'),
    )
    expect((await call('POST', '/v2/deployments', imageBody({ secrets }))).status).toBe(500)
    await gql(CREATE, { input: gqlInput() })
    await asAdmin(database.url, (admin) => admin.query('ALTER TABLE secret_sets RENAME TO gone'))
    expect((await call('PATCH', `/v2/deployments/${id}`, { secrets })).status).toBe(500)
    expect((await call('GET', `/v2/deployments/${id}`)).status).toBe(500)

    server.child.kill('SIGTERM')
    const { stdout, stderr } = await server.ended
    expect(stdout).toContain('request failed')
    expect(stdout.trim().split('\n').length).toBeGreaterThan(20)
    for (const line of `${stdout}\n${stderr}`.split('\n')) expect(line).not.toContain(canary)
    expect(refusals.length).toBeGreaterThan(14)
    expect(refusals.filter((text) => text.includes(canary))).toEqual([])

    // no table contains it in clear text
    await asAdmin(database.url, async (admin) => {
      const { rows } = await admin.query<{ name: string }>(
        "SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'",
      )
      expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(['events', 'log_lines', 'api_keys', 'gone']))
      for (const { name } of rows) {
        const found = await admin.query(`SELECT 1 FROM ${name} AS row WHERE row::text LIKE $1`, [`%${canary}%`])
        expect(found.rowCount, name).toBe(0)
      }
    })
  })
})
