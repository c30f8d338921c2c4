// The listener program against a real control plane over HTTP, with a recording runtime.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startListener } from '../../src/listener/run.ts'
import type { WorkerProgram } from '../../src/listener/worker-program.ts'
import { VERSION } from '../../src/platform/files/checkout.ts'
import { eventually } from '../dataplane/support.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { startProxy, type TcpProxy } from '../support/kubernetes/proxy.ts'
import {
  deploymentOn,
  type RecordingRuntime,
  readableLog,
  recordingRuntime,
  registered,
  settingsFor,
} from './support.ts'

let app: TestApp
let proxy: TcpProxy
let listener: { listenerId: string; key: string }
const log = readableLog()
const running: WorkerProgram[] = []
beforeAll(async () => {
  app = await testApp({ settings: { RUNTIME: 'none', SWEEP_SECONDS: '1' } })
  proxy = await startProxy({ host: '127.0.0.1', port: Number(new URL(app.url).port) })
})
afterEach(async () => {
  proxy.heal()
  await Promise.all(running.splice(0).map((one) => one.close()))
})
afterAll(async () => {
  await proxy.close()
  await app.close()
})

interface Started {
  listener: WorkerProgram
  runtime: RecordingRuntime
  get(path: string): Promise<{ status: number; text: string }>
}

/** A replica of a new listener, or of the same one with `again`. Its cluster has `problem`. */
async function start({ again = false, problem = () => null as string | null, settings = {} } = {}): Promise<Started> {
  if (!again) listener = await registered(app)
  const runtime = recordingRuntime()
  const over = settingsFor(`http://${proxy.address}`, listener, settings)
  const started = await startListener(over, { log: log.log }, { runtime, problem })
  running.push(started)
  return {
    listener: started,
    runtime,
    async get(path) {
      const response = await fetch(`http://127.0.0.1:${started.port}${path}`)
      return { status: response.status, text: await response.text() }
    },
  }
}

const deployment = (overrides?: object) => deploymentOn(app, listener.listenerId, overrides)
const row = (id: string) =>
  app.app.core.db.deployment.findUniqueOrThrow({ where: { id }, include: { latestRevision: true } })
const reaches = (id: string, status: string) =>
  eventually(async () => (await row(id)).latestRevision!.status === status, 15_000)
const ready = (one: Started) => eventually(async () => (await one.get('/readyz')).status === 200)
const metric = async (one: Started, line: string) => (await one.get('/metrics')).text.split('\n').includes(line)
const update = (id: string, image: string) =>
  app.rest('PATCH', `/v2/deployments/${id}`, { body: { source_revision_config: { image_uri: image } } })

test('a listener creates, changes and deletes a deployment with all the data it needs', async () => {
  const one = await start({ settings: { POD_CLASSES: '{"large": {}, "gpu": {}}' } })
  const secrets = [{ name: 'TOKEN', value: `canary-${randomUUID()}` }]
  const made = await deployment({ secrets, secret_references: [{ name: 'A', secret_name: 'b', secret_key: 'c' }] })
  expect(await reaches(made.id, 'DEPLOYED')).toBe(true)
  const step = one.runtime.deployed.get(made.latest_revision_id)!
  expect(step.revision).toMatchObject({ imageUri: made.source_revision_config.image_uri, secrets, number: 1 })
  expect(step.secretReferences).toEqual([{ name: 'A', secret_name: 'b', secret_key: 'c' }])
  expect(step.spec.max_scale).toBe(1)
  expect(step.deadline).toBeGreaterThan(performance.now())
  expect(await eventually(() => one.runtime.serving.get(made.id)?.revision.id)).toBe(made.latest_revision_id)

  const { body: logs } = await app.rest(
    'GET',
    `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/logs?type=deploy`,
  )
  expect(logs.logs.map((line: { message: string }) => line.message)).toEqual([
    `deploying ${made.source_revision_config.image_uri}`,
  ])
  const { body: shown } = await app.rest('GET', `/v2/listeners/${listener.listenerId}`)
  expect(shown).toMatchObject({ version: VERSION, pod_classes: ['gpu', 'large'], status: 'ONLINE' })

  await update(made.id, 'registry.example.com/agent:2')
  expect(await eventually(async () => one.runtime.serving.get(made.id)?.revision.number === 2)).toBe(true)
  expect(await reaches(made.id, 'DEPLOYED')).toBe(true)
  // a heartbeat brings it
  expect(await eventually(async () => (await row(made.id)).health)).toMatchObject({ ready: 1, desired: 1 })

  await app.rest('DELETE', `/v2/deployments/${made.id}`)
  expect(await eventually(async () => (await row(made.id)).tornDownAt !== null)).toBe(true)
  expect(one.runtime.asked.map((call) => call.split(' ')[0])).toEqual(['provision', 'deploy', 'deploy', 'teardown'])
  expect(log.text()).not.toContain(secrets[0]!.value)
  expect(log.text()).not.toContain(listener.key)
})

test('work arrives immediately, without waiting for the next poll', async () => {
  const one = await start({ settings: { LEASE_SECONDS: '120' } })
  expect(await ready(one)).toBe(true)
  const begun = performance.now()
  const made = await deployment()
  expect(await reaches(made.id, 'DEPLOYED')).toBe(true)
  await update(made.id, 'registry.example.com/agent:2')
  expect(await eventually(async () => one.runtime.asked.length === 3)).toBe(true)
  // a long poll lasts 30 s with this lease
  expect(performance.now() - begun).toBeLessThan(6000)
})

test('an interrupted deploy is stopped and reported, and the next one starts', async () => {
  const one = await start()
  let stopped = false
  one.runtime.deploying = (_step, _log, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        stopped = true
        reject(signal.reason)
      })
    })
  const made = await deployment()
  expect(await reaches(made.id, 'DEPLOYING')).toBe(true)
  await app.rest('POST', `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/interrupt`)
  expect(await eventually(() => stopped)).toBe(true)
  one.runtime.deploying = async () => {}
  await update(made.id, 'registry.example.com/agent:2')
  expect(await reaches(made.id, 'DEPLOYED')).toBe(true)
  for (const outcome of ['stopped', 'succeeded'])
    expect(
      await eventually(() => metric(one, `pilothouse_listener_steps_total{kind="DEPLOY",outcome="${outcome}"} 1`)),
    ).toBe(true)
})

test('a failed deploy reports its cause', async () => {
  const one = await start()
  one.runtime.deploying = async () => {
    const { StepFailure } = await import('../../src/dataplane/output/step-failure.ts')
    throw new StepFailure('IMAGE_PULL_FAILED', 'The image can’t be pulled.')
  }
  const made = await deployment()
  expect(await reaches(made.id, 'DEPLOY_FAILED')).toBe(true)
  expect((await row(made.id)).latestRevision!.statusMessage).toBe('The image can’t be pulled.')
})

test('two replicas share the work, and one takes the claims that the other releases', async () => {
  const first = await start({ settings: { MAX_CLAIMS: '3' } })
  const second = await start({ again: true })
  const made = await Promise.all(Array.from({ length: 6 }, () => deployment()))
  for (const { id } of made) expect(await reaches(id, 'DEPLOYED')).toBe(true)
  // the status DEPLOYED arrives before the assignment to serve
  expect(await eventually(() => first.runtime.serving.size + second.runtime.serving.size === 6)).toBe(true)
  expect(first.runtime.serving.size).toBeLessThanOrEqual(3)
  await running.splice(1, 1)[0]!.close()
  expect(await eventually(() => first.runtime.serving.size === 3)).toBe(true)
  const third = await start({ again: true })
  expect(await eventually(() => first.runtime.serving.size + third.runtime.serving.size === 6)).toBe(true)
  expect(third.runtime.asked).toEqual([])
})

describe('a control plane that is away', () => {
  test.each(['cut', 'freeze'] as const)(
    'a control plane outage (%s) shows in /readyz, and the work resumes afterwards',
    async (how) => {
      const one = await start()
      expect(await ready(one)).toBe(true)
      let finish = () => {}
      one.runtime.deploying = () =>
        new Promise((resolve) => {
          finish = resolve
        })
      const made = await deployment()
      expect(await reaches(made.id, 'DEPLOYING')).toBe(true)
      proxy[how]()
      expect(await eventually(async () => (await one.get('/readyz')).status === 503, 15_000)).toBe(true)
      expect(JSON.parse((await one.get('/readyz')).text)).toEqual({
        status: 'not ready',
        reason: expect.stringMatching(/control plane/i),
      })
      expect((await one.get('/healthz')).status).toBe(200)
      // the step ends, or restarts after its lease expires; neither is reported yet
      one.runtime.deploying = async () => {}
      finish()
      const waiting = await deployment()
      proxy.heal()
      expect(await ready(one)).toBe(true)
      expect(await reaches(made.id, 'DEPLOYED')).toBe(true)
      expect(await reaches(waiting.id, 'DEPLOYED')).toBe(true)
    },
  )

  test('a listener that starts during an outage waits for the control plane', async () => {
    proxy.cut()
    const one = await start()
    expect(await eventually(async () => /can't be reached/.test((await one.get('/readyz')).text))).toBe(true)
    proxy.heal()
    expect(await ready(one)).toBe(true)
  })

  test('an outage longer than the lease costs the deployment its claim but no replica', async () => {
    const one = await start({ settings: { LEASE_SECONDS: '5' } })
    const made = await deployment()
    expect(await reaches(made.id, 'DEPLOYED')).toBe(true)
    proxy.cut()
    expect(await eventually(() => !one.runtime.serving.has(made.id))).toBe(true)
    // the listener releases it shortly before it expires
    expect(await eventually(() => metric(one, 'pilothouse_listener_claims 0'))).toBe(true)
    proxy.heal()
    expect(await eventually(() => one.runtime.serving.has(made.id), 15_000)).toBe(true)
    expect(await metric(one, 'pilothouse_listener_claims 1')).toBe(true)
    expect(one.runtime.asked.filter((call) => call.startsWith('teardown'))).toEqual([])
  })
})

describe('a key', () => {
  test('a revoked key ends the work, and the listener reports it until an admin fixes it', async () => {
    const one = await start()
    const made = await deployment()
    expect(await reaches(made.id, 'DEPLOYED')).toBe(true)
    const { id } = await app.app.core.db.apiKey.findFirstOrThrow({ where: { listenerId: listener.listenerId } })
    const revoke = 'mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { __typename } }'
    expect((await app.gql(revoke, { input: { apiKeyId: id } })).errors).toBeUndefined()
    await update(made.id, 'registry.example.com/agent:2')
    expect(await eventually(async () => /was revoked/.test((await one.get('/readyz')).text), 15_000)).toBe(true)
    expect(await eventually(() => !one.runtime.serving.has(made.id), 15_000)).toBe(true)
    expect(one.runtime.asked.filter((call) => call.startsWith('deploy'))).toHaveLength(1)
    expect(log.text()).toContain('See CONTROL_PLANE_API_KEY')
    expect(log.text()).not.toContain(listener.key)
  })

  test.each([
    [
      'of another listener',
      async () => ({ ...(await registered(app)), listenerId: listener.listenerId }),
      /no listener/,
    ],
    ['of an admin', async () => ({ ...listener, key: app.keys.admin }), /must be one of role `listener`/],
    [
      'that was never issued',
      async () => ({ ...listener, key: `cpk_${'x'.repeat(43)}` }),
      /unknown, expired or was revoked/,
    ],
  ])('a key %s is refused, and the listener keeps retrying', async (_which, make, reason) => {
    listener = await registered(app)
    const right = listener
    listener = await make()
    const one = await start({ again: true })
    expect(await eventually(async () => reason.test((await one.get('/readyz')).text))).toBe(true)
    const refused = async () =>
      Number(/call_seconds_count\{call="claim",outcome="refused"\} (\d+)/.exec((await one.get('/metrics')).text)?.[1])
    expect(await eventually(async () => (await refused()) >= 2)).toBe(true)
    listener = right
  })
})

test('an unreachable cluster shows in /readyz and in the metrics', async () => {
  let problem: string | null = 'The API server is not reachable'
  const one = await start({ problem: () => problem })
  await eventually(async () => !/control plane/.test((await one.get('/readyz')).text))
  expect(await one.get('/readyz')).toEqual({
    status: 503,
    text: JSON.stringify({ status: 'not ready', reason: problem }),
  })
  expect(await metric(one, 'pilothouse_listener_cluster_problem 1')).toBe(true)
  problem = null
  expect(await ready(one)).toBe(true)
  expect(await metric(one, 'pilothouse_listener_cluster_problem 0')).toBe(true)
})

test('a listener releases its claims immediately when it stops', async () => {
  const one = await start({ settings: { LEASE_SECONDS: '600' } })
  const made = await Promise.all([deployment(), deployment()])
  for (const { id } of made) expect(await reaches(id, 'DEPLOYED')).toBe(true)
  const begun = performance.now()
  await one.listener.close()
  expect(performance.now() - begun).toBeLessThan(8000)
  for (const { id } of made) expect(await row(id)).toMatchObject({ leaseHolder: null, leaseExpiresAt: null })
  await expect(one.get('/healthz')).rejects.toThrow()
})

test('two hundred deployments cost one heartbeat per interval and no other calls without changes', async () => {
  let one = await start()
  const made = await deployment()
  expect(await reaches(made.id, 'DEPLOYED')).toBe(true)
  await running.pop()!.close()
  await copies(made.id, 199)
  one = await start({ again: true, settings: { LEASE_SECONDS: '12' } })
  expect(await eventually(() => one.runtime.serving.size === 200, 60_000)).toBe(true)
  const calls = async () => {
    const { text } = await one.get('/metrics')
    const count = (call: string) =>
      [...text.matchAll(new RegExp(`call_seconds_count{call="${call}",outcome="\\w+"} (\\d+)`, 'g'))]
        .map((match) => Number(match[1]))
        .reduce((sum, number) => sum + number, 0)
    return { heartbeat: count('heartbeat'), reports: count('complete') + count('logs') }
  }
  // the first waiting heartbeat ends those that the claims started early
  const settled = (await calls()).heartbeat + 2
  expect(await eventually(async () => (await calls()).heartbeat >= settled, 15_000)).toBe(true)
  const since = performance.now()
  const before = await calls()
  expect(await eventually(async () => (await calls()).heartbeat >= before.heartbeat + 3, 20_000)).toBe(true)
  // each waits 3 s, a quarter of the lease
  expect(performance.now() - since).toBeGreaterThan(6000)
  expect((await calls()).reports).toBe(0)
  expect(await metric(one, 'pilothouse_listener_claims 200')).toBe(true)
}, 180_000)

/** Creates deployments like this one, which serves. */
async function copies(id: string, count: number): Promise<void> {
  const { db } = app.app.core
  const columns = await db.$queryRaw<{ name: string }[]>`
    SELECT quote_ident(column_name) AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = 'deployments' AND is_generated = 'NEVER'`
  const list = columns.map(({ name }) => name).join(', ')
  await db.$executeRawUnsafe(
    `INSERT INTO deployments (${list}) SELECT ${list} FROM (
      SELECT (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(),
        'name', 'copy ' || i, 'active_revision_id', NULL, 'latest_revision_id', NULL))).*
      FROM deployments d, generate_series(1, $2::int) i WHERE d.id = $1::uuid) AS copied`,
    id,
    count,
  )
  await db.$executeRaw`
    INSERT INTO revisions SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'deployment_id', c.id))).*
    FROM revisions r, deployments c WHERE r.deployment_id = ${id}::uuid AND c.name LIKE 'copy %'`
  await db.$executeRaw`
    UPDATE deployments d SET active_revision_id = r.id, latest_revision_id = r.id FROM revisions r
    WHERE r.deployment_id = d.id AND d.name LIKE 'copy %'`
}
