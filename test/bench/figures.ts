/**
 * `npm run bench`: speed and memory of a real server with thousands of deployments, on an embedded Postgres of its
 * own. Prints one line for each figure, in ms unless it says otherwise; judges nothing.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createClient } from 'graphql-sse'
import { type App, buildApp } from '../../src/app/app.ts'
import { transaction } from '../../src/domain/context/context.ts'
import { issueKey } from '../../src/domain/keys/issue.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { agentAttacks } from './agents.ts'
import { fairness } from './fairness.ts'
import { followedLogs } from './logs.ts'
import { manyAgents } from './many-agents.ts'
import { streams } from './streams/main.ts'
import { caller, say, time } from './support.ts'
import { accessTokens } from './tokens.ts'
import { waits } from './waits.ts'

const DEPLOYMENTS = Number(process.env.BENCH_DEPLOYMENTS ?? 5_000)
const SUBSCRIBERS = 200
const KEYS = 25
const key = `cpk_bench_${randomBytes(16).toString('hex')}`
const dataDir = path.join(os.tmpdir(), `pilothouse-bench-${randomBytes(4).toString('hex')}`)

/** as many as so many people and pipelines would have: a key by itself has its limits */
const keys = [key]
let call = caller(() => app.publicUrl(), key)
const ask = async (query: string, variables: object = {}) => (await call('POST', '/graphql', { query, variables })).data

/** Rows written directly: what is measured is how they are read. */
async function seed({ core }: App): Promise<void> {
  await core.db.$executeRaw`
    INSERT INTO deployments (id, workspace_id, name, source, revision_count, rollout, created_at, updated_at)
    SELECT gen_random_uuid(), w.id, 'agent-' || n, 'internal_container', 20, 20, now() - n * interval '1 minute', now()
    FROM workspaces w, generate_series(1, ${DEPLOYMENTS}::int) n`
  await core.db.$executeRaw`
    INSERT INTO revisions (id, deployment_id, number, status, attempt, rollout, source, image_uri, created_at, updated_at)
    SELECT gen_random_uuid(), d.id, n, 'DEPLOYED', 1, n, d.source, 'agent:' || n, now(), now()
    FROM deployments d, generate_series(1, 20) n`
  await core.db.$executeRaw`
    UPDATE deployments d SET latest_revision_id = r.id, active_revision_id = r.id, provisioned_at = now()
    FROM revisions r WHERE r.deployment_id = d.id AND r.number = 20`
  await core.db.$executeRaw`ANALYZE`
  say('deployments', `${DEPLOYMENTS} with 20 revisions each`)
}

async function makeKeys({ core }: App): Promise<void> {
  const { id: workspaceId, organizationId } = await core.db.workspace.findFirstOrThrow()
  for (let n = 1; n < KEYS; n++) {
    const how = { organizationId, workspaceId, name: `bench ${n}`, role: 'admin', createdBy: null } as const
    keys.push((await transaction(core, (tx) => issueKey(tx, how))).text)
  }
  call = caller(() => app.publicUrl(), ...keys)
}

const PAGE = `query($after: String) { deployments(first: 50, after: $after) { pageInfo { endCursor } nodes { id name status
  latestRevision { id status } activeRevision { id status } listener { id } } } }`

async function reads(): Promise<void> {
  await time('REST: first page of 100', 50, () => call('GET', '/v2/deployments?limit=100'))
  await time(`REST: page at offset ${DEPLOYMENTS - 100}`, 50, () =>
    call('GET', `/v2/deployments?limit=100&offset=${DEPLOYMENTS - 100}`),
  )
  await time('GraphQL: first 50 with latest, active revision and listener', 50, () => ask(PAGE))
  let after: string | null = null
  for (let seen = 0; seen < DEPLOYMENTS - 100; seen += 100) {
    const page: { deployments: { pageInfo: { endCursor: string } } } = await ask(
      'query($after: String) { deployments(first: 100, after: $after) { pageInfo { endCursor } } }',
      { after },
    )
    after = page.deployments.pageInfo.endCursor
  }
  await time(`GraphQL: the same by cursor, ${DEPLOYMENTS - 100} rows further down`, 50, () => ask(PAGE, { after }))
}

async function create(name: string): Promise<string> {
  const body = {
    name,
    source: 'internal_container',
    source_config: {},
    source_revision_config: { image_uri: 'agent:1' },
    secrets: [],
  }
  return (await call('POST', '/v2/deployments', body)).id
}

async function writes(): Promise<void> {
  await time('REST: create a deployment', 50, (i) => create(`bench-${i}`))
  const id = await create('bench-patch')
  const patch = () => call('PATCH', `/v2/deployments/${id}`, { source_revision_config: { image_uri: 'agent:2' } })
  await time('REST: PATCH with a new revision', 50, patch)
  const began = performance.now()
  await Promise.all(Array.from({ length: 100 }, patch))
  say('REST: 100 concurrent PATCHes of one deployment, all of them', `${Math.round(performance.now() - began)}`)
}

async function fanOut(): Promise<void> {
  const id = await create('bench-fan-out')
  const before = process.memoryUsage.rss()
  let connections = 0
  const client = createClient({
    url: `${app.publicUrl()}/graphql`,
    headers: () => ({ 'x-api-key': keys[connections++ % keys.length]! }),
    retryAttempts: 0,
  })
  const query = 'subscription($id: ID!) { revisionStatusChanged(deploymentId: $id) { to } }'
  const streams = Array.from({ length: SUBSCRIBERS }, () => client.iterate({ query, variables: { id } }))
  await Promise.all(streams.map((stream) => stream.next()))
  const began = performance.now()
  await Promise.all([
    call('PATCH', `/v2/deployments/${id}`, { source_revision_config: { image_uri: 'agent:3' } }),
    ...streams.map((stream) => stream.next()),
  ])
  say(`a PATCH until ${SUBSCRIBERS} subscribers over SSE have heard of it`, `${Math.round(performance.now() - began)}`)
  say(
    'memory for each subscriber, both ends',
    `${Math.round((process.memoryUsage.rss() - before) / SUBSCRIBERS / 1024)} KiB`,
  )
  client.dispose()
}

/** The largest upload there may be, over HTTP; the client's memory is in it. */
async function upload(): Promise<void> {
  const { id } = await call('POST', '/v2/deployments', {
    name: 'bench-upload',
    source: 'internal_source',
    source_config: {},
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [],
  })
  const { upload_url } = await call('POST', `/v2/deployments/${id}/upload-url`)
  const before = process.memoryUsage.rss()
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 5)
  const chunk = Buffer.alloc(1_000_000)
  const bytes = (function* () {
    yield Buffer.from([0x1f, 0x8b, 8])
    for (let i = 0; i < 199; i++) yield chunk
  })()
  const began = performance.now()
  const request = http.request(upload_url, { method: 'PUT' })
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
  await pipeline(bytes, request)
  const [response] = await answered
  response.resume()
  if (response.statusCode !== 200) throw new Error(`the upload was answered with ${response.statusCode}`)
  clearInterval(watch)
  const mib = (rss: number) => Math.round(rss / 2 ** 20)
  say('an upload of 200 MB', `${Math.round(performance.now() - began)}`)
  say('memory (RSS) before it, and at most while it lasts', `${mib(before)} MiB  ${mib(peak)} MiB`)
}

const app = await buildApp(
  readConfig({
    PORT: '0',
    DATA_DIR: dataDir,
    CONTROL_PLANE_API_KEY: key,
    LOG_LEVEL: 'silent',
    WORKER: 'off',
    OUTBOUND_ALLOW: '127.0.0.1',
  }),
)
await app.start()
try {
  await makeKeys(app)
  await seed(app)
  await reads()
  await writes()
  await fanOut()
  await upload()
  await accessTokens(app)
  say('memory of the server (RSS)', `${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`)
} finally {
  await app.close()
  await rm(dataDir, { recursive: true, force: true })
}
await streams()
await waits()
await followedLogs()
await fairness()
if (process.platform === 'linux') await manyAgents()
await agentAttacks()
