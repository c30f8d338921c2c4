/**
 * Two real servers with workers on one database and one machine. During a step the holder of the deployment is killed
 * with SIGKILL; the other server, and the killed one after its restart, continue.
 */
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase, type Database } from '../../src/platform/postgres/client.ts'
import { type Collector, sentTo, startCollector } from '../support/collector.ts'
import { newDataDir } from '../support/data-dir.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { Follower } from '../support/follower.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'
import { restOf } from '../support/rest-of.ts'

const KEY = 'cpk_two_servers_admin_key'
let database: TestDatabase
let db: Database
const dataDir = newDataDir()
let repository: AgentRepository
let collector: Collector
const servers: (RunningServer | null)[] = [null, null]

const start = async (index: number) => {
  servers[index] = await startServer({
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    GIT_DIRECTORY: path.join(dataDir, 'git'),
    SECRETS_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}`,
    CONTROL_PLANE_API_KEY: KEY,
    RUNTIME: 'process',
    WORKER: 'on',
    LEASE_SECONDS: '3',
    SWEEP_SECONDS: '1',
    APPS_PORT: '0',
    LOG_LEVEL: 'warn',
    ...sentTo(collector),
  })
}
const alive = () => servers.filter((server) => server !== null).map((server) => server.url)

beforeAll(async () => {
  ;[database, collector] = await Promise.all([testDatabase(), startCollector()])
  db = connectDatabase({ url: database.url, poolSize: 2 })
  // an unprivileged account must be able to pass through it
  await mkdir(dataDir, { mode: 0o711 })
  // slow enough to be interrupted
  const pause = `node -e "setTimeout(() => {}, 1200)"`
  repository = await agentRepository(path.join(dataDir, 'git'), 'agent', `${pause} && node server.mjs`)
  await Promise.all([start(0), start(1)])
})
afterAll(async () => {
  for (const server of servers) server?.child.kill('SIGTERM')
  await Promise.all(servers.map((server) => server?.ended))
  await repository?.remove()
  await db?.close()
  await Promise.all([database?.drop(), collector?.close()])
  await rm(dataDir, { recursive: true, force: true })
})

const rest = restOf(() => alive()[0]!, KEY)

type Created = { id: string; latest_revision_id: string }

async function create(name: string): Promise<Created> {
  const [integration] = await rest('GET', '/v1/integrations/gitprovider/install')
  return rest('POST', '/v2/deployments', {
    name,
    source: 'gitprovider',
    source_config: {
      integration_id: integration.id,
      repo_url: repository.url,
      install_command: 'node -e "setTimeout(() => {}, 1200)"',
    },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
    secrets: [],
    access: 'public',
  })
}

/** Kills the holder of the deployment as soon as there is one. Returns which server it was. */
async function killHolder(deploymentId: string): Promise<number> {
  for (;;) {
    const { leaseHolder } = await db.requests.db.deployment.findUniqueOrThrow({ where: { id: deploymentId } })
    const index = servers.findIndex((server) => server && leaseHolder?.split(':')[1] === String(server.child.pid))
    if (index === -1) continue
    const victim = servers[index]!
    servers[index] = null
    victim.child.kill('SIGKILL')
    await victim.ended
    return index
  }
}

/** Waits for the agent's answer: for a moment no server binds its port. */
async function answers(deploymentId: string): Promise<void> {
  const { source_config } = await rest('GET', `/v2/deployments/${deploymentId}`)
  const answer = () =>
    fetch(source_config.custom_url, { signal: AbortSignal.timeout(2000) }).then(
      (response) => response.text(),
      () => null,
    )
  await expect.poll(answer, { timeout: 40_000 }).toBe('Hello\n')
}

/** The other server goes on with the trace that the killed one has begun. `again`: the step that was interrupted. */
async function checkTrace({ id, latest_revision_id }: Created, again: string, phase: string) {
  const { trace_id } = await rest('GET', `/v2/deployments/${id}/revisions/${latest_revision_id}`)
  await expect.poll(() => collector.below(trace_id, 'rollout')).toEqual(expect.arrayContaining([again, 'deploy']))
  const step = collector.spans.find((span) => span.traceId === trace_id && span.name === again)
  expect(step!.attributes).toMatchObject({ 'pilothouse.step.tries': 2 })
  expect(collector.below(trace_id, again)).toContain(phase)
}

/** `builds`: how often its build was started. */
async function checkLog(deploymentId: string, follower: Follower, builds: number) {
  const workspace = await db.requests.db.workspace.findFirstOrThrow()
  const log = await db.requests.db.event.findMany({
    where: { workspaceId: workspace.id },
    orderBy: { sequence: 'asc' },
  })
  expect(log.map((event) => Number(event.sequence))).toEqual(log.map((_, i) => i + 1))
  // the subscriber, across the kill: a snapshot, then every change, none doubled and none missing
  const told = log
    .filter((event) => event.deploymentId === deploymentId && event.type === 'revision.status')
    .map((event) => event.toStatus)
  const heard = follower.events.map((event) => event.to)
  expect(told.slice(-heard.length)).toEqual(heard)
  expect(follower.events.slice(1).every((event) => event.from !== null)).toBe(true)
  expect(new Set(follower.events.map((event) => event.cursor)).size).toBe(follower.events.length)
  const steps = await db.requests.db.step.findMany({ where: { deploymentId } })
  expect(steps).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ kind: 'PROVISION', outcome: 'succeeded' }),
      expect.objectContaining({ kind: 'BUILD', outcome: 'succeeded', tries: builds }),
      expect.objectContaining({ kind: 'DEPLOY', outcome: 'succeeded' }),
    ]),
  )
  expect(steps).toHaveLength(3)
}

test.each([
  ['BUILDING', 'build', 'install'],
  ['DEPLOYING', 'deploy', 'start the agent'],
])(
  'the holder is killed while a revision is %s: it still gets DEPLOYED, once, serves, and has one trace',
  async (status, step, phase) => {
    const deployment = await create(`killed-${status}`)
    const follower = new Follower(alive, KEY, deployment.id)
    try {
      await follower.until((event) => event.to === status)
      const killed = await killHolder(deployment.id)
      await follower.until((event) => event.to === 'DEPLOYED')
      await answers(deployment.id)
      await checkLog(deployment.id, follower, status === 'BUILDING' ? 2 : 1)
      await checkTrace(deployment, step, phase)
      await start(killed)
      await answers(deployment.id)
    } finally {
      await follower.close()
    }
  },
  60_000,
)
