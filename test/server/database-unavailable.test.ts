// A server while its database is unavailable, silent or cut off, and afterwards: no request gets a 500, none hangs.
import { Writable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import { measureRegularly } from '../../src/dataplane/worker/metrics-loop.ts'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { type Answer, type TestApp, testApp } from '../support/app.ts'
import { asAdmin, countStatements } from '../support/database.ts'
import { type TcpProxy, tcpProxy } from '../support/tcp-proxy.ts'

let there: TestApp
let proxy: TcpProxy
/** the same server, with its database behind the proxy */
let app: TestApp
const lines: { msg: string; err?: { code?: string } }[] = []

beforeAll(async () => {
  there = await testApp()
  proxy = await tcpProxy(there.databaseUrl)
  const log = createLogger(
    'info',
    new Writable({
      write(line, _encoding, done) {
        lines.push(JSON.parse(String(line)))
        done()
      },
    }),
  )
  app = await testApp({
    beside: there,
    settings: { DATABASE_URL: proxy.url, DATABASE_QUERY_SECONDS: '1', SWEEP_SECONDS: '1' },
    overrides: { log },
  })
})
afterAll(async () => {
  proxy.away(true)
  await app.close()
  proxy.close()
  await there.close()
})

const many = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))
const isUnavailable = ({ status, headers, body }: Answer) =>
  status === 503 && body.code === 'UNAVAILABLE' && Number(headers.get('retry-after')) > 0
const eventually = async (check: () => Promise<boolean>) => {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 50))
}
const works = async () => (await app.rest('GET', '/v2/deployments')).status === 200

let made = 0
const create = (name = `app-${made++}`) => ({
  name,
  source: 'external_container',
  source_config: {},
  source_revision_config: { image_uri: 'registry.example.com/acme/agent:1' },
  secrets: [],
})

test('74 reads on silent connections each get a retryable error within seconds, and then reads work again', async () => {
  await many(20, () => app.rest('GET', '/v2/deployments'))
  proxy.goSilent()
  const begun = performance.now()
  const answers = await many(74, () => app.rest('GET', '/v2/deployments'))
  expect(answers.filter((answer) => !isUnavailable(answer)).map(({ status, text }) => `${status} ${text}`)).toEqual([])
  expect(performance.now() - begun).toBeLessThan(15_000)
  const asked = await app.gql('{ deployments { totalCount } }')
  expect(asked.errors).toMatchObject([{ extensions: { code: 'UNAVAILABLE', retryAfter: 2 } }])
  proxy.heal()
  await eventually(works)
  expect((await many(20, () => app.rest('GET', '/v2/deployments'))).map(({ status }) => status)).toEqual(
    Array(20).fill(200),
  )
})

test('a compiled query waits once for a locked table, and fails with the same error as other queries', async () => {
  await eventually(works)
  const { url, tenant } = app
  // different variables each time: a cached response would be returned again
  const LIST = 'query($n: Int) { deployments(first: $n) { nodes { name status } } }'
  const ONE = 'query($id: ID!) { deployment(id: $id) { name } }'
  let asked = 0
  const ask = async (query: string, id: unknown = crypto.randomUUID(), accept = '*/*') => {
    const answer = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': tenant.keys.viewer, accept },
      body: JSON.stringify({ query, variables: { n: ++asked, id } }),
    })
    return answer.text()
  }
  // the sweep also runs, but reads no names
  const reads = (sent: string[]) =>
    sent.filter((sql) => /\bFROM ("public".)?"?deployments/.test(sql) && /\bname\b/.test(sql))
  const { id } = (await there.rest('POST', '/v2/deployments', { body: create() })).body
  for (let n = 0; n < 3; n++) for (const query of [LIST, ONE]) await ask(query, id)
  await asAdmin(there.databaseUrl, async (client) => {
    await client.query('BEGIN; LOCK TABLE deployments')
    for (const query of [LIST, ONE]) {
      // in a content type without an earlier response, so Yoga's resolvers answer it
      const expected = await ask(query, undefined, 'application/json, text/*;q=0.3')
      expect(expected).toContain('UNAVAILABLE')
      let got = ''
      const sent = await countStatements(app.app.database, async () => {
        got = await ask(query)
      })
      expect(got).toBe(expected)
      expect(reads(sent)).toHaveLength(1)
    }
    const sent = await countStatements(app.app.database, async () => {
      expect(isUnavailable(await app.rest('GET', '/v2/deployments?limit=7'))).toBe(true)
    })
    expect(reads(sent)).toHaveLength(1)
  })
})

test('an unavailable database answers 503 with Retry-After for reads and writes, REST and GraphQL, and logs one line', async () => {
  await eventually(works)
  proxy.away(true)
  const answers = await many(30, (index) =>
    index % 2 ? app.rest('GET', '/v2/deployments') : app.rest('POST', '/v2/deployments', { body: create() }),
  )
  expect(answers.filter((answer) => !isUnavailable(answer)).map(({ status, text }) => `${status} ${text}`)).toEqual([])
  const asked = await many(10, () => app.gql('{ deployments { totalCount } }'))
  for (const { errors } of asked) expect(errors).toMatchObject([{ extensions: { code: 'UNAVAILABLE' } }])
  expect((await app.rest('GET', '/readyz', { key: null })).status).toBe(503)
  proxy.away(false)
  await eventually(works)
  // an earlier test locked a table, and a job's wait for it failed
  const ofThis = lines.filter(({ err }) => err?.code !== '55P03')
  const others = ['request', 'it works again']
  const told = ofThis
    .map(({ msg }) => msg)
    .filter((msg) => !others.includes(msg) && !msg.startsWith('Server listening'))
  // lines of this outage and the previous one, which may be the same outage
  expect(told.filter((msg) => msg === 'the database cannot be used').length).toBeOneOf([1, 2])
  // on a busy machine the outage lasts for seconds, and then LISTEN has a line, too
  expect(told.filter((msg) => !/^the (database can|LISTEN connection)/.test(msg))).toEqual([])
  expect(JSON.stringify(ofThis)).not.toContain('"stack"')
})

test('only the samples of metrics from the time without a database are lost, and measuring goes on', async () => {
  await eventually(works)
  const { id: deploymentId, latest_revision_id: revisionId } = (
    await app.rest('POST', '/v2/deployments', { body: create() })
  ).body
  const begin = Math.floor(Date.now() / 10_000 - 30) * 10_000
  const stop = new AbortController()
  let measured = 0
  const measure = async () => {
    measured++
    // two samples are sent together
    if (measured === 3) proxy.away(true)
    if (measured === 5) {
      proxy.away(false)
      await eventually(works)
    }
    if (measured === 6) stop.abort()
    return [{ deploymentId, revisionId, measures: { requests_2xx: measured }, latencies: [] }]
  }
  // measuring takes 10 s by this clock
  const clock = () => new Date(begin - 1 + measured * 10_000)
  const { core } = app.app
  await measureRegularly(
    { controlPlane: localControlPlane(core), runtime: { measure }, log: core.log, clock },
    stop.signal,
  )
  const { body } = await app.rest('GET', `/v2/deployments/${deploymentId}/metrics?names=requests`)
  expect(body.series[0].points.map(([, value]: [number, number]) => value)).toEqual([1, 2, 5, 6])
})

test('a write whose connection breaks after COMMIT answers with the written row', async () => {
  await eventually(works)
  const cut = proxy.cutAtCommit('after')
  const answer = await app.rest('POST', '/v2/deployments', { body: create('cut-after') })
  await cut
  expect(answer.status).toBe(201)
  expect((await there.rest('GET', '/v2/deployments?name=cut-after')).body.resources).toMatchObject([
    { id: answer.body.id },
  ])
})

test('a write whose connection breaks before COMMIT writes nothing and may be repeated', async () => {
  await eventually(works)
  const cut = proxy.cutAtCommit('before')
  const answer = await app.rest('POST', '/v2/deployments', { body: create('cut-before') })
  await cut
  expect(isUnavailable(answer)).toBe(true)
  expect((await there.rest('GET', '/v2/deployments?name=cut-before')).body.resources).toEqual([])
})

test('a write with an unknown outcome does not ask for a retry, but its idempotency key allows one', async () => {
  await eventually(works)
  const cut = proxy.cutAtCommit('after').then(() => proxy.away(true))
  const body = create('unknown')
  const send = () => app.rest('POST', '/v2/deployments', { body, headers: { 'idempotency-key': 'unknown' } })
  const answer = await send()
  await cut
  expect(answer).toMatchObject({ status: 503, body: { code: 'OUTCOME_UNKNOWN' } })
  expect(answer.headers.get('retry-after')).toBe(null)
  proxy.away(false)
  await eventually(works)
  const again = await send()
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
  expect((await there.rest('GET', '/v2/deployments?name=unknown')).body.resources).toMatchObject([
    { id: again.body.id },
  ])
})
