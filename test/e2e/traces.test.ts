/** Traces of deployments in a collector: a real server with its worker, and OpenTelemetry's own exporter. */
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type CollectedSpan, type Collector, sentTo, startCollector } from '../support/collector.ts'
import { newDataDir } from '../support/data-dir.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'
import { restOf } from '../support/rest-of.ts'

const KEY = 'cpk_traces_admin_key_0123'
const dataDir = newDataDir()
let database: TestDatabase
let collector: Collector
let repository: AgentRepository
let server: RunningServer

beforeAll(async () => {
  ;[database, collector, repository] = await Promise.all([
    testDatabase(),
    startCollector(),
    agentRepository(path.join(dataDir, 'git'), 'agent', 'env | grep ^OTEL_ | sort; node server.mjs'),
  ])
  await repository.push('hello')
  server = await startServer({
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    CONTROL_PLANE_API_KEY: KEY,
    RUNTIME: 'process',
    WORKER: 'on',
    ...sentTo(collector),
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20hidden',
    OTEL_LOGS_EXPORTER: 'otlp',
    // of an export with its retries
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
  })
})
afterAll(async () => {
  server?.child.kill('SIGTERM')
  await server?.ended
  await Promise.all([database?.drop(), collector?.close(), repository?.remove()])
  await rm(dataDir, { recursive: true, force: true })
})

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
/** id of the span that the caller says it is in */
const CALLER = '00f067aa0ba902b7'

/** The names of the spans below a span, in the order of their starts, each with those below it. */
const tree = (parent: string): unknown[] => collector.childrenOf(TRACE, parent).map(withThoseBelow)
const withThoseBelow = ({ name, spanId }: CollectedSpan) => {
  const below = tree(spanId)
  return below.length === 0 ? name : [name, ...below]
}

test('one trace has all phases of a deployment, from the caller’s request to the first ready answer', async () => {
  const rest = restOf(() => server.url, KEY)
  const [{ id: integration_id }] = await rest('GET', '/v1/integrations/gitprovider/install')
  const answer = await fetch(`${server.url}/v2/deployments`, {
    method: 'POST',
    headers: { 'x-api-key': KEY, 'content-type': 'application/json', traceparent: `00-${TRACE}-${CALLER}-01` },
    body: JSON.stringify({
      name: 'traced',
      source: 'gitprovider',
      source_config: { integration_id, repo_url: repository.url },
      source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
      secrets: [{ name: 'OTEL_SERVICE_NAME', value: 'named-by-its-secret' }],
    }),
  })
  const { id, latest_revision_id } = await answer.json()
  await expect
    .poll(() => collector.spans.some(({ name }) => name === 'rollout'), { timeout: 60_000, interval: 50 })
    .toBe(true)
  const phases = [
    ['provision: wait for a worker', 'provision'],
    ['build', 'load the source', 'prepare the environment', 'install', 'store the artifact'],
    ['deploy', 'open the address', 'start the agent', 'wait for the first ready answer', 'switch requests to it'],
  ]
  await expect.poll(() => tree(CALLER).flat(9), { timeout: 5000 }).toEqual(expect.arrayContaining(phases.flat()))
  const [[request, ...below]] = tree(CALLER) as [[string, ...unknown[]]]
  expect(request).toBe('POST /v2/deployments')
  expect(below.map((one) => (Array.isArray(one) ? one[0] : one))).toEqual(['transaction', 'rollout'])
  const revision = await rest('GET', `/v2/deployments/${id}/revisions/${latest_revision_id}`)
  expect(revision).toMatchObject({ status: 'DEPLOYED', trace_id: TRACE })
  const events = await rest('GET', `/v2/events?types=revision.status`)
  expect(new Set(events.resources.map(({ trace_id }: { trace_id: string }) => trace_id))).toEqual(new Set([TRACE]))
  const told = server.output.stdout.split('\n').find((line) => line.includes('traced #1 DEPLOYED'))
  expect(JSON.parse(told!)).toMatchObject({ trace_id: TRACE, revisionId: latest_revision_id })
  await expect
    .poll(() => collector.lines.filter(({ traceId }) => traceId === TRACE).map(({ body }) => body.stringValue))
    .toContainEqual(expect.stringMatching(/^traced #1 DEPLOYED/))
}, 90_000)

test('the agent knows the collector and its deployment, but not the collector’s headers', async () => {
  const rest = restOf(() => server.url, KEY)
  const [{ id, latest_revision_id }] = (await rest('GET', '/v2/deployments')).resources
  const told = async () => {
    const { logs } = await rest('GET', `/v2/deployments/${id}/revisions/${latest_revision_id}/logs?type=deploy`)
    return logs.map(({ message }: { message: string }) => message).filter((line: string) => /^OTEL_/.test(line))
  }
  await expect
    .poll(told, { timeout: 10_000 })
    .toEqual([
      `OTEL_EXPORTER_OTLP_ENDPOINT=${collector.origin}`,
      expect.stringContaining(`pilothouse.deployment.id=${id},pilothouse.revision.id=${latest_revision_id}`),
      expect.stringMatching(/^OTEL_SERVICE_NAME=/),
    ])
})

test('the collector’s headers are in no log line', () => {
  expect(collector.headers[0]).toMatchObject({ authorization: 'Bearer hidden' })
  expect(server.output.stdout + JSON.stringify(collector.lines)).not.toContain('hidden')
})

test('reads begin no trace', () => {
  expect(collector.spans.filter(({ traceId }) => traceId !== TRACE)).toEqual([])
})

const CREATE_REVISION = `mutation ($input: CreateRevisionInput!) { createRevision(input: $input) {
  ... on CreateRevisionSuccess { revision { traceId } } } }`

test('each way to start a rollout continues the caller’s trace', async () => {
  const rest = restOf(() => server.url, KEY)
  const [{ id, latest_revision_id }] = (await rest('GET', '/v2/deployments')).resources
  const traceOf = (n: number) => TRACE.slice(0, -1) + n
  const traceparentOf = (n: number) => `00-${traceOf(n)}-${CALLER}-01`
  const send = async (n: number, method: string, target: string, body?: object) => {
    const trace = { traceparent: traceparentOf(n), tracestate: 'vendor=its' }
    const headers = { 'x-api-key': KEY, 'content-type': 'application/json', ...trace }
    return (await fetch(server.url + target, { method, headers, body: body && JSON.stringify(body) })).json()
  }
  const mutation = { query: CREATE_REVISION, variables: { input: { deploymentId: id } } }
  await send(1, 'PATCH', `/v2/deployments/${id}`, { secrets: [] })
  await send(2, 'POST', `/v2/deployments/${id}/revisions/${latest_revision_id}/redeploy`)
  await send(3, 'POST', '/graphql', mutation)
  const url = `${server.url.replace('http', 'ws')}/graphql`
  const client = createClient({ url, webSocketImpl: WebSocket, connectionParams: { 'X-Api-Key': KEY } })
  await client.iterate({ ...mutation, extensions: { traceparent: traceparentOf(4) } }).next()
  await client.dispose()

  const { resources } = await rest('GET', `/v2/deployments/${id}/revisions`)
  const ids = resources.map(({ trace_id }: { trace_id: string }) => trace_id)
  expect(ids.sort()).toEqual([1, 2, 3, 4].map(traceOf))
  const requests = () =>
    collector.spans
      .filter(({ traceId, parentSpanId }) => traceId !== TRACE && parentSpanId === CALLER)
      .map(({ traceId, name, traceState }) => [
        traceId,
        name,
        traceState,
        collector.below(traceId, name).includes('transaction'),
      ])
  await expect.poll(requests).toEqual([
    [traceOf(1), 'PATCH /v2/deployments/:deployment_id', 'vendor=its', true],
    [traceOf(2), 'POST /v2/deployments/:deployment_id/revisions/:revision_id/redeploy', 'vendor=its', true],
    [traceOf(3), 'POST /graphql', 'vendor=its', true],
    [traceOf(4), 'WebSocket /graphql', undefined, true],
  ])
})

const CREATE_KEY = { query: 'mutation { createApiKey(input: { name: "k", role: viewer }) { __typename } }' }

test('a teardown is not part of the trace of a deploy', async () => {
  const rest = restOf(() => server.url, KEY)
  const [{ id }] = (await rest('GET', '/v2/deployments')).resources
  await rest('DELETE', `/v2/deployments/${id}`)
  await expect.poll(() => rest('GET', '/v2/deployments'), { timeout: 20_000 }).toMatchObject({ resources: [] })
  // its span is sent after those of the teardown
  const { length } = collector.spans
  await rest('POST', '/graphql', CREATE_KEY)
  const names = () => collector.spans.slice(length).map(({ name }) => name)
  await expect.poll(names).toContain('POST /graphql')
  expect(collector.spans.filter(({ name }) => name.startsWith('teardown'))).toEqual([])
})

test('a collector that is away is in the log once, and no request fails', async () => {
  await collector.close()
  const rest = restOf(() => server.url, KEY)
  const write = () => rest('POST', '/graphql', CREATE_KEY)
  const lines = () => server.output.stdout.split('\n').filter((line) => line.includes('could not be sent'))
  await write()
  await expect.poll(lines, { timeout: 5000 }).toHaveLength(1)
  for (let n = 0; n < 10; n++) await write()
  expect(lines()).toEqual([expect.stringContaining(`ECONNREFUSED ${new URL(collector.origin).host}`)])
})
