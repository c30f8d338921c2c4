/** /metrics for operators; the alert rules and the dashboard in docs/ use existing metrics. */
import { readFileSync } from 'node:fs'
import { loadYaml } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { agentFiguresText } from '../../src/api/server/agent-figures.ts'
import { claim } from '../../src/domain/claims/claim.ts'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { createRevision } from '../../src/domain/deployments/update.ts'
import { sweep } from '../../src/domain/rollouts/sweep.ts'
import { createDeliveries } from '../../src/domain/webhooks/deliver.ts'
import { createEndpoint } from '../../src/domain/webhooks/manage.ts'
import { type LoadSample, Overload } from '../../src/platform/async/overload.ts'
import { useApp } from '../support/app.ts'
import { asAdmin } from '../support/database.ts'
import { gitDeployment } from '../support/domain.ts'
import { freePort } from '../support/free-port.ts'
import { claimOne, workOff } from '../support/holder.ts'

const app = useApp(() => ({ settings: { RATE_LIMIT: '1', RATE_LIMIT_BURST: '2', OUTBOUND_ALLOW: '127.0.0.1' } }))

/** A sample's value, by name and labels as written. */
async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${app.url}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return line === undefined ? Number.NaN : Number(line.slice(name.length + 1))
}

test('metrics count a rollout: statuses, steps with durations, events and log lines', async () => {
  const ctx = await app.context(app.keys.admin)
  const plane = localControlPlane(app.app.core)
  const id = await gitDeployment(ctx)
  const held = await claimOne(plane, id)
  await plane.logs({
    claimId: held.claimId,
    token: held.token,
    revisionId: (await ctx.db.revision.findFirstOrThrow({ where: { deploymentId: id } })).id,
    attempt: 1,
    entries: [
      { type: 'build', message: 'one', time: new Date() },
      { type: 'build', message: 'two', time: new Date() },
    ],
  })
  await workOff(plane, held)
  expect(await metric('pilothouse_revision_transitions_total{status="DEPLOYED",reason="none"}')).toBe(1)
  for (const kind of ['PROVISION', 'BUILD', 'DEPLOY'])
    expect(await metric(`pilothouse_step_duration_seconds_count{kind="${kind}",outcome="succeeded"}`), kind).toBe(1)
  expect(await metric('pilothouse_events_total{type="deployment.created"}')).toBe(1)
  expect(await metric('pilothouse_log_lines_total')).toBe(2)
})

test('metrics show waiting work, a webhook without an answer, and an expired lease', async () => {
  const { core } = app.app
  const ctx = await app.context(app.keys.admin)
  // nothing listens there
  const url = `http://127.0.0.1:${await freePort()}/`
  await createEndpoint(ctx, { body: { name: 'away', url, event_types: ['deployment.created'] } })
  const id = await gitDeployment(ctx)
  const deliveries = createDeliveries(core)
  await deliveries.round(new AbortController().signal)
  await expect.poll(() => metric('pilothouse_webhook_tries_total{result="unanswered"}')).toBeGreaterThan(0)
  await deliveries.stop()
  await core.db.$executeRaw`UPDATE steps SET created_at = now() - interval '1 hour' WHERE deployment_id = ${id}::uuid`
  await sweep(core)
  // values stay cached for some seconds
  await expect.poll(() => metric('pilothouse_queue_oldest_seconds')).toBeGreaterThan(3_599)
  expect(await metric('pilothouse_queue_steps')).toBe(1)
  expect(await metric('pilothouse_webhook_deliveries{state="pending"}')).toBe(1)
  expect(await metric('pilothouse_webhook_deliveries{state="dead"}')).toBe(0)
  expect(await metric('pilothouse_revisions_open{status="CREATING",reason="WAITING_FOR_WORKER"}')).toBe(1)
  expect(await metric('pilothouse_database_up')).toBe(1)

  const scope = { listenerId: null }
  await claim(core, scope, { holder: 'lost', max: 10, leaseSeconds: 60 })
  await core.db
    .$executeRaw`UPDATE deployments SET lease_expires_at = now() - interval '1 minute' WHERE id = ${id}::uuid`
  await claim(core, scope, { holder: 'next', max: 10, leaseSeconds: 60 })
  expect(await metric('pilothouse_leases_lost_total')).toBe(1)
  await createRevision(ctx, { path: { deployment_id: id }, body: {} })
})

test('metrics show streams, refused calls, connections and the disk', async () => {
  const stream = await fetch(`${app.url}/graphql`, {
    method: 'POST',
    headers: { 'x-api-key': app.keys.viewer, accept: 'text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'subscription { revisionStatusChanged { to } }' }),
  })
  await expect.poll(() => metric('pilothouse_streams')).toBe(1)
  await stream.body!.cancel()
  await expect.poll(() => metric('pilothouse_streams')).toBe(0)
  const key = app.keys.deployer
  const answers = await Promise.all(Array.from({ length: 5 }, () => app.rest('GET', '/v2/deployments', { key })))
  const refused = answers.filter(({ status }) => status === 429).length
  expect(refused).toBeGreaterThan(0)
  await expect.poll(() => metric('pilothouse_rate_limited_total{route="/v2/deployments"}')).toBe(refused)
  expect(await metric('pilothouse_database_connections{pool="api",state="idle"}')).toBeGreaterThan(0)
  expect(await metric('pilothouse_database_waiting{pool="api"}')).toBe(0)
  const free = await metric('pilothouse_data_dir_free_bytes')
  expect(free).toBeGreaterThan(0)
  expect(await metric('pilothouse_data_dir_size_bytes')).toBeGreaterThanOrEqual(free)
})

test('an overloaded server reports the cause in /readyz, metrics and GraphQL, and keeps serving', async () => {
  const overload = app.app.core.overload!
  const asked = async () => ({
    ready: await (await fetch(`${app.url}/readyz`)).json(),
    cpu: await metric('pilothouse_overloaded{cause="CPU"}'),
    server: (await app.gql('{ server { overload { causes message since } } }', {}, { key: app.sibling.keys.viewer }))
      .data?.server,
  })
  const note = (times: number, sample: LoadSample) => {
    for (let i = 0; i < times; i++) overload.note(sample)
  }
  // the server's own measurements interfere, so each try records its samples again
  const overloaded = async () => {
    note(3, { eventLoopMs: 60, databaseMs: 20, cpuPressure: 97 })
    return asked()
  }
  const since = expect.any(String)
  await expect.poll(overloaded, { timeout: 15_000 }).toEqual({
    ready: { status: 'ready', overloaded: { causes: ['CPU'], since } },
    cpu: 1,
    server: { overload: { causes: ['CPU'], message: 'This server is overloaded (CPU).', since } },
  })
  const passed = async () => {
    note(5, { eventLoopMs: 5, databaseMs: 5, cpuPressure: 97 })
    return asked()
  }
  await expect
    .poll(passed, { timeout: 15_000 })
    .toEqual({ ready: { status: 'ready' }, cpu: 0, server: { overload: null } })
})

test.each([
  ['a build that takes every core', { eventLoopMs: 15, databaseMs: 40, cpuPressure: 97 }, []],
  ['a machine that keeps its CPU from the server', { eventLoopMs: 60, databaseMs: 40, cpuPressure: 97 }, ['CPU']],
  ['a busy event loop on an idle machine', { eventLoopMs: 150, databaseMs: 1, cpuPressure: 5 }, ['EVENT_LOOP']],
  [
    'the same where the kernel tells no pressure',
    { eventLoopMs: 150, databaseMs: 1, cpuPressure: null },
    ['EVENT_LOOP'],
  ],
  ['a slow database', { eventLoopMs: 1, databaseMs: 700, cpuPressure: 5 }, ['DATABASE']],
  ['a database that is away', { eventLoopMs: 1, databaseMs: null, cpuPressure: 5 }, []],
])('%s is overload, or not', (_, sample, causes) => {
  const overload = new Overload()
  // a short busy moment is not an overload
  for (let i = 0; i < 2; i++) overload.note(sample)
  expect(overload.now).toBeNull()
  overload.note(sample)
  expect(overload.now?.causes ?? []).toEqual(causes)
})

test('a locked table does not count as an unavailable database', async () => {
  await asAdmin(app.databaseUrl, async (admin) => {
    await admin.query('BEGIN')
    await admin.query('LOCK TABLE revisions IN ACCESS EXCLUSIVE MODE')
    // counts stay cached for some seconds
    await expect.poll(() => metric('pilothouse_queue_steps')).toBeNaN()
    expect(await metric('pilothouse_database_up')).toBe(1)
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200)
    await admin.query('ROLLBACK')
  })
})

test('the alert rules and the dashboard use existing metrics', async () => {
  const read = (file: string) => readFileSync(new URL(`../../deploy/chart/monitoring/${file}`, import.meta.url), 'utf8')
  const alerts = loadYaml<{ groups: { rules: { alert: string; expr: string }[] }[] }>(read('alerts.yml'))
  const dashboard = JSON.parse(read('grafana-dashboard.json'))
  const asked = [
    ...alerts.groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
    ...dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) => targets.map(({ expr }) => expr)),
  ].flatMap((expr) => expr.match(/\b(pilothouse|http|process|nodejs)_\w+/g) ?? [])
  const ofAgents = agentFiguresText({ agents: {}, droppedLogLines: 0 })
  const text = (await (await fetch(`${app.url}/metrics`)).text()) + ofAgents
  const there = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name))
  const missing = asked.map((name) => name.replace(/_(bucket|count|sum)$/, '')).filter((name) => !there.has(name))
  expect(missing).toEqual([])
  expect(asked.length).toBeGreaterThan(30)
})
