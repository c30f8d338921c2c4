/** The data plane over REST (docs/protocol.md): work for one listener, and for no other. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Listener } from '../../src/generated/prisma/client.ts'
import { type Answer, testApp } from '../support/app.ts'
import { listenerKey, listener as makeListener } from '../support/factories.ts'
import { bodies, useRestApp, violations } from './support.ts'

const app = useRestApp()

// biome-ignore lint/suspicious/noExplicitAny: a checked answer
type Json = any

/** A listener with its key, and its calls. */
async function connect(overrides: Partial<Listener> = {}, tenant = app.tenant) {
  const row = await makeListener(app, { workspaceId: tenant.workspaceId, ...overrides })
  const key = await listenerKey(app, row, tenant)
  const post = (path: string, body: object) => app.call('POST', `/v2/listeners/${row.id}/${path}`, { key, body })
  return {
    ...row,
    key,
    post,
    row: () => app.core.db.listener.findUniqueOrThrow({ where: { id: row.id } }),
    async claim(body: object = {}): Promise<Json[]> {
      const answer = await post('claims', body)
      expect(answer.status, answer.text).toBe(200)
      return answer.body.claims
    },
    async beat(claims: object[], more: object = {}): Promise<Json[]> {
      const answer = await post('heartbeat', { claims, ...more })
      expect(answer.status, answer.text).toBe(200)
      return answer.body.claims
    },
    async succeed({ claim_id, token }: Json, step: Json, more: object = {}): Promise<Json> {
      const answer = await post(`claims/${claim_id}/complete`, {
        token,
        step_id: step.id,
        outcome: 'succeeded',
        ...more,
      })
      expect(answer.status, answer.text).toBe(200)
      return answer.body
    },
  }
}
type Connected = Awaited<ReturnType<typeof connect>>

const create = (listener: Connected, more: object = {}) =>
  app.create({
    ...bodies.external_container(),
    source_config: { listener_id: listener.id, listener_config: { k8s_namespace: 'agents' } },
    ...more,
  })
const latest = async (deployment: Json) =>
  app.core.db.revision.findUniqueOrThrow({ where: { id: deployment.latest_revision_id } })
const held = ({ claim_id, token, generation }: Json) => ({ claim_id, token, generation })

/** Begins a call and returns after the server's first look; from then on the call waits. */
async function waiting(listener: Connected, begin: () => Promise<Answer>): Promise<Promise<Answer>[]> {
  await app.core.db.listener.update({ where: { id: listener.id }, data: { lastSeenAt: null } })
  const call = begin()
  await expect.poll(async () => (await listener.row()).lastSeenAt).not.toBeNull()
  // in a list, so that it is not awaited here
  return [call]
}

test('a deployment goes from its claim to serving, to its next revision, to its removal', async () => {
  const listener = await connect()
  const secrets = [{ name: 'TOKEN', value: 'in clear' }]
  const deployment = await create(listener, { secrets })
  const [claim, ...others] = await listener.claim({ holder: 'replica-1' })
  expect(others).toEqual([])
  expect(claim).toMatchObject({
    token: '1',
    lease_seconds: 30,
    deployment: {
      id: deployment.id,
      name: deployment.name,
      address_name: null,
      k8s_namespace: 'agents',
      provisioned: false,
    },
    run: null,
    step: { kind: 'PROVISION', tries: 1, revision: null },
    stop: false,
  })
  const { assignment } = await listener.succeed(claim, claim.step)
  expect(assignment.step).toMatchObject({
    kind: 'DEPLOY',
    revision: { id: deployment.latest_revision_id, image_uri: 'registry.example.com/acme/agent:1', secrets },
    spec: { min_scale: 1, max_scale: 1 },
  })
  const line = { type: 'deploy', message: 'rolled out', time: new Date().toISOString() }
  const logged = await listener.post(`claims/${claim.claim_id}/logs`, {
    token: claim.token,
    revision_id: deployment.latest_revision_id,
    attempt: 1,
    entries: [line, { ...line, level: 'warning', message: 'slowly', styles: '0:33' }],
  })
  expect(logged.status, logged.text).toBe(204)
  const other = await listener.post(`claims/${claim.claim_id}/logs`, {
    token: claim.token,
    revision_id: deployment.latest_revision_id,
    attempt: 1,
    entries: [{ ...line, styles: '0:31m\u001b[2J' }],
  })
  expect(other.status, other.text).toBe(422)
  const done = await listener.succeed(claim, assignment.step, { image_version: '1' })
  expect(done).toMatchObject({
    recorded: true,
    assignment: { step: null, run: { revision: { id: deployment.latest_revision_id } } },
  })
  expect(await latest(deployment)).toMatchObject({ status: 'DEPLOYED' })
  const path = `/v2/deployments/${deployment.id}`
  const log = await app.call('GET', `${path}/revisions/${deployment.latest_revision_id}/logs`, {
    query: { type: 'deploy' },
  })
  expect(log.body.logs.map((one: Json) => [one.level, one.message, one.ansi])).toEqual([
    ['info', 'rolled out', null],
    ['warning', 'slowly', '\u001b[0;33mslowly\u001b[0m'],
  ])

  const { generation } = done.assignment
  const health = { ready: 1, desired: 2, message: 'one is coming' }
  expect(await listener.beat([{ ...held(claim), generation, health }])).toEqual([
    { claim_id: claim.claim_id, lost: false, assignment: null },
  ])
  expect((await app.core.db.deployment.findUniqueOrThrow({ where: { id: deployment.id } })).health).toMatchObject(
    health,
  )

  await app.call('PATCH', path, {
    body: { source_revision_config: { image_uri: 'registry.example.com/acme/agent:2' } },
  })
  const [news] = await listener.beat([{ ...held(claim), generation }])
  expect(news.assignment).toMatchObject({
    run: { revision: { image_uri: 'registry.example.com/acme/agent:1' } },
    step: { kind: 'DEPLOY', revision: { number: 2, image_uri: 'registry.example.com/acme/agent:2' } },
  })
  await listener.succeed(claim, news.assignment.step)

  await app.call('DELETE', path)
  const [last] = await listener.beat([held(claim)])
  expect(last.assignment).toMatchObject({ run: null, step: { kind: 'TEARDOWN' } })
  await listener.succeed(claim, last.assignment.step)
  expect((await app.call('GET', path)).status).toBe(404)
  expect((await listener.post(`claims/${claim.claim_id}/release`, { token: claim.token })).body.code).toBe('CLAIM_LOST')
})

describe('waiting', () => {
  test('a waiting listener gets new work immediately', async () => {
    const listener = await connect()
    const other = await connect()
    const [call] = await waiting(listener, () => listener.post('claims', { wait_seconds: 60 }))
    const [theirs] = await waiting(other, () => other.post('claims', { wait_seconds: 60 }))
    const { id } = await create(listener)
    expect((await call!).body.claims).toMatchObject([{ deployment: { id } }])
    const { id: second } = await create(other)
    expect((await theirs!).body.claims).toMatchObject([{ deployment: { id: second } }])
  })

  test('a waiting holder learns immediately that a step was withdrawn, and nothing about its other claims', async () => {
    const listener = await connect()
    const [interrupted, untouched] = [await create(listener), await create(listener)]
    const claims = await listener.claim()
    const [call] = await waiting(listener, () =>
      listener.post('heartbeat', { wait_seconds: 60, lease_seconds: 600, claims: claims.map(held) }),
    )
    const path = `/v2/deployments/${interrupted.id}/revisions/${interrupted.latest_revision_id}/interrupt`
    expect((await app.call('POST', path)).status).toBe(200)
    const answers = (await call!).body.claims
    const of = (deployment: Json) => answers[claims.findIndex((claim) => claim.deployment.id === deployment.id)]
    expect(of(interrupted)).toMatchObject({ lost: false, assignment: { stop: true, step: null } })
    expect(of(untouched)).toMatchObject({ lost: false, assignment: null })
  })

  test('ends with nothing when the time is up', async () => {
    const listener = await connect()
    expect(await listener.claim({ wait_seconds: 1 })).toEqual([])
    expect(await listener.beat([], { wait_seconds: 1 })).toEqual([])
    await create(listener)
    const [claim] = await listener.claim()
    expect(await listener.beat([held(claim)], { wait_seconds: 1 })).toMatchObject([{ lost: false, assignment: null }])
  })

  test('ends when its server stops', async () => {
    const listener = await connect()
    const second = await testApp({ beside: app })
    const path = `/v2/listeners/${listener.id}/claims`
    const [call] = await waiting(listener, () =>
      second.rest('POST', path, { key: listener.key, body: { wait_seconds: 60 } }),
    )
    const begun = performance.now()
    await second.close()
    expect((await call!).body).toEqual({ claims: [] })
    expect(performance.now() - begun).toBeLessThan(5000)
  })

  test('work for a listener whose connection broke is there for the next call', async () => {
    const listener = await connect()
    const gone = new AbortController()
    const [call] = await waiting(listener, () => {
      const broken = fetch(`${app.url}/v2/listeners/${listener.id}/claims`, {
        method: 'POST',
        headers: { 'x-api-key': listener.key, 'content-type': 'application/json' },
        body: JSON.stringify({ wait_seconds: 60, lease_seconds: 600 }),
        signal: gone.signal,
      })
      return broken as unknown as Promise<Answer>
    })
    gone.abort()
    await expect(call).rejects.toThrow()
    const { id } = await create(listener)
    expect(await listener.claim({ wait_seconds: 20 })).toMatchObject([{ deployment: { id }, step: { tries: 1 } }])
  })

  test('a revoked key gets no work', async () => {
    const listener = await connect()
    const [call] = await waiting(listener, () => listener.post('claims', { wait_seconds: 60 }))
    const { id: keyId } = await app.core.db.apiKey.findFirstOrThrow({ where: { listenerId: listener.id } })
    await app.core.db.apiKey.update({ where: { id: keyId }, data: { revokedAt: new Date() } })
    const { id } = await create(listener)
    expect((await call!).status).toBe(401)
    // whether the work or the revocation came first: there is no lease
    const { claimId } = await app.core.db.deployment.findUniqueOrThrow({ where: { id } })
    expect(claimId).toBeNull()
  })
})

test('a holder whose key is revoked during its wait does not learn the next revision', async () => {
  const listener = await connect()
  const deployment = await create(listener)
  const [claim] = await listener.claim({ lease_seconds: 600 })
  const [call] = await waiting(listener, () =>
    listener.post('heartbeat', { wait_seconds: 60, lease_seconds: 600, claims: [held(claim)] }),
  )
  await app.core.db.apiKey.updateMany({ where: { listenerId: listener.id }, data: { revokedAt: new Date() } })
  await app.call('DELETE', `/v2/deployments/${deployment.id}`)
  expect((await call!).status).toBe(401)
})

test('an old token changes nothing: 409 everywhere, and lost in a heartbeat', async () => {
  const listener = await connect()
  const deployment = await create(listener)
  const [stale] = await listener.claim()
  await app.core.db
    .$executeRaw`UPDATE deployments SET lease_expires_at = now() - interval '1 second' WHERE id = ${deployment.id}::uuid`
  const [fresh] = await listener.claim()
  expect(BigInt(fresh.token)).toBeGreaterThan(BigInt(stale.token))
  const state = () =>
    Promise.all([
      app.core.db.deployment.findUniqueOrThrow({ where: { id: deployment.id } }),
      app.core.db.step.findMany({ where: { deploymentId: deployment.id } }),
      app.core.db.logLine.count({ where: { revisionId: deployment.latest_revision_id } }),
    ])
  const before = await state()
  const entries = [{ type: 'deploy', message: 'late', time: new Date().toISOString() }]
  const revision = { revision_id: deployment.latest_revision_id, attempt: 1 }
  // each half of old and new, and a number that can't be a token
  for (const [claimId, token] of [
    [stale.claim_id, stale.token],
    [stale.claim_id, fresh.token],
    [fresh.claim_id, stale.token],
    [fresh.claim_id, '9'.repeat(19)],
  ]) {
    for (const [path, body] of [
      ['complete', { step_id: stale.step.id, outcome: 'succeeded' }],
      ['logs', { ...revision, entries }],
      ['release', {}],
    ] as const) {
      const answer = await listener.post(`claims/${claimId}/${path}`, { token, ...body })
      expect([answer.status, answer.body.code], path).toEqual([409, 'CLAIM_LOST'])
    }
    const health = { ready: 9, desired: 9 }
    expect(await listener.beat([{ claim_id: claimId, token, health }])).toEqual([
      { claim_id: claimId, lost: true, assignment: null },
    ])
  }
  expect(await state()).toEqual(before)
})

test('a deployment that was dropped by force is lost to its holder immediately, and further reports are refused', async () => {
  const listener = await connect()
  const deployment = await create(listener)
  const [claim] = await listener.claim({ lease_seconds: 600 })
  await app.call('DELETE', `/v2/deployments/${deployment.id}`)
  await listener.post(`claims/${claim.claim_id}/complete`, {
    token: claim.token,
    step_id: claim.step.id,
    outcome: 'stopped',
  })
  const { generation } = (await listener.beat([{ claim_id: claim.claim_id, token: claim.token }]))[0].assignment
  const [call] = await waiting(listener, () =>
    listener.post('heartbeat', { wait_seconds: 60, lease_seconds: 600, claims: [{ ...held(claim), generation }] }),
  )
  const begun = performance.now()
  await app.call('DELETE', `/v2/deployments/${deployment.id}`, { query: { force: 'true' } })
  expect((await call!).body.claims).toMatchObject([{ lost: true }])
  // before a waiting holder would look again by itself
  expect(performance.now() - begun).toBeLessThan(4000)
  const { token } = claim
  const entries = [{ type: 'deploy', message: 'x', time: new Date().toISOString() }]
  for (const [path, body] of [
    ['logs', { revision_id: deployment.latest_revision_id, attempt: 1, entries }],
    ['complete', { step_id: claim.step.id, outcome: 'succeeded' }],
    ['release', {}],
  ] as const) {
    const answer = await listener.post(`claims/${claim.claim_id}/${path}`, { token, ...body })
    expect([answer.status, answer.body.code], path).toEqual([409, 'CLAIM_LOST'])
  }
  expect(await listener.claim()).toEqual([])
})

/** The first assignment as a later answer must return it: equal except for the remaining time. */
const later = (first: Json, again: Json) => {
  expect(again.step.seconds_left).toBeLessThan(first.step.seconds_left)
  const { seconds_left, deadline_at } = again.step
  return { ...first, step: { ...first.step, seconds_left, deadline_at } }
}
const deadlineOf = async ({ step }: { step: { id: string } }) =>
  (await app.app.core.db.step.findUniqueOrThrow({ where: { id: step.id } })).deadlineAt

test('a repeated report gets the first answer', async () => {
  const listener = await connect()
  await create(listener)
  const [claim] = await listener.claim()
  const first = await listener.succeed(claim, claim.step)
  const deadline = await deadlineOf(first.assignment)
  const again = await listener.succeed(claim, claim.step)
  expect(again).toEqual({ ...first, assignment: later(first.assignment, again.assignment) })
  expect(await deadlineOf(again.assignment)).toEqual(deadline)
})

test('restarts that a heartbeat reports are counted once, shown over REST and GraphQL, and are events', async () => {
  const listener = await connect()
  const { id } = await create(listener)
  const [claim] = await listener.claim()
  const revision_id = (await app.call('GET', `/v2/deployments/${id}`)).body.latest_revision_id
  const ended = { revision_id, at: '2026-11-27T12:00:00.000Z', reason: 'OUT_OF_MEMORY', signal: 'SIGKILL' }
  const restarts = ['a', 'b'].map((name) => ({ ...ended, id: name, message: `${name} was killed` }))
  await listener.beat([{ ...held(claim), restarts }])
  await listener.beat([{ ...held(claim), restarts }])
  const other = await connect()
  await other.beat([{ ...held(claim), restarts: [{ ...restarts[0], id: 'c' }] }])
  const { body } = await app.call('GET', `/v2/deployments/${id}`)
  const last = { at: ended.at, reason: 'OUT_OF_MEMORY', signal: 'SIGKILL', message: 'b was killed' }
  expect(body).toMatchObject({ restart_count: 2, last_restart: { ...last, revision_id, exit_code: null } })
  const query = `query ($id: ID!) { deployment(id: $id) { restartCount
    lastRestart { at revisionId reason exitCode signal message } events(last: 1) { nodes { type reason message count } } } }`
  const { data } = await app.gql(query, { id })
  expect(data.deployment).toEqual({
    restartCount: 2,
    lastRestart: { ...last, revisionId: revision_id, exitCode: null },
    events: { nodes: [{ type: 'agent.restarted', reason: 'OUT_OF_MEMORY', message: 'a was killed', count: 1 }] },
  })
  const events = await app.call('GET', `/v2/deployments/${id}/events`, { query: { types: 'agent.*' } })
  expect(events.body.resources).toEqual([
    expect.objectContaining({
      type: 'agent.restarted',
      revision_id,
      count: 1,
      actor: expect.objectContaining({ kind: 'listener' }),
    }),
  ])
  const wrong = await listener.post('heartbeat', { claims: [{ ...held(claim), restarts: [{ id: 'x' }] }] })
  expect(wrong.status).toBe(422)
})

test('a queue that a heartbeat reports as stalled is its health, and one event for each stall', async () => {
  const listener = await connect()
  const { id } = await create(listener)
  const [claim] = await listener.claim()
  const serves = { ready: 1, desired: 1, message: null, reason: null }
  const stalled = { ...serves, reason: 'QUEUE_STALLED', message: 'Runs wait' }
  const report = (health: object) => listener.beat([{ ...held(claim), health }])
  const events = async () => {
    const { body } = await app.call('GET', `/v2/deployments/${id}/events`, { query: { types: 'queue.*' } })
    return body.resources
  }
  await report({ ...serves, restarted_at: '2026-11-27T12:00:00.000Z' })
  await report(stalled)
  await report(stalled)
  const other = await connect()
  await other.beat([{ ...held(claim), health: serves }])
  expect((await app.call('GET', `/v2/deployments/${id}`)).body.health).toMatchObject(stalled)
  const row = await app.core.db.deployment.findUniqueOrThrow({ where: { id } })
  expect(row.health).toMatchObject({ restartedAt: '2026-11-27T12:00:00.000Z' })
  const event = { type: 'queue.stalled', reason: 'QUEUE_STALLED', message: 'Runs wait' }
  expect(await events()).toEqual([expect.objectContaining(event)])
  await report(serves)
  await report(stalled)
  expect(await events()).toHaveLength(2)
})

test('samples of metrics are stored for the listener’s deployments, and for no others', async () => {
  const listener = await connect()
  const deployment = await create(listener)
  const start = new Date(Math.floor(app.core.clock().getTime() / 10_000 - 1) * 10_000).toISOString()
  const sample = { deployment_id: deployment.id, revision_id: deployment.latest_revision_id, start }
  const body = (replicas: number) => ({
    process_number: 1,
    samples: [{ ...sample, measures: { replicas, unknown: 1 } }],
  })
  const other = await connect()
  expect((await other.post('metrics', body(5))).status).toBe(204)
  for (const _ of [1, 2]) expect((await listener.post('metrics', body(2))).status).toBe(204)
  const { series } = (await app.call('GET', `/v2/deployments/${deployment.id}/metrics`)).body
  expect(series).toMatchObject([{ name: 'replicas', points: [[Date.parse(start) / 1000, 2]] }])
  const wrong = { process_number: -1, samples: [{ ...sample, measures: { replicas: -1 }, latencies: [[200, 1]] }] }
  expect(violations(await listener.post('metrics', wrong))).toEqual([
    'body.process_number greater_than_equal',
    'body.samples.0.latencies.0.0 less_than_equal',
    'body.samples.0.measures.replicas greater_than_equal',
  ])
  const key = app.keys.admin
  expect((await app.call('POST', `/v2/listeners/${listener.id}/metrics`, { key, body: body(1) })).status).toBe(403)
})

test('a repeated heartbeat returns the changes of a lost answer', async () => {
  const listener = await connect()
  const deployment = await create(listener)
  const [claim] = await listener.claim()
  const { assignment } = await listener.succeed(claim, claim.step)
  const { generation } = (await listener.succeed(claim, assignment.step)).assignment
  const body = { source_revision_config: { image_uri: 'registry.example.com/acme/agent:2' } }
  await app.call('PATCH', `/v2/deployments/${deployment.id}`, { body })
  const [lost] = await listener.beat([{ ...held(claim), generation }])
  expect(lost.assignment.step).toMatchObject({ kind: 'DEPLOY', tries: 1 })
  const deadline = await deadlineOf(lost.assignment)
  const [again] = await listener.beat([{ ...held(claim), generation }])
  expect(again).toEqual({ ...lost, assignment: later(lost.assignment, again.assignment) })
  expect(await deadlineOf(again.assignment)).toEqual(deadline)
})

describe('a listener’s key does only the work of its listener', () => {
  const calls = (id: string, claimId: string = randomUUID()) => {
    const token = '1'
    const entries = [{ type: 'deploy', message: 'x', time: new Date().toISOString() }]
    return [
      [`/v2/listeners/${id}/claims`, {}],
      [`/v2/listeners/${id}/heartbeat`, { claims: [] }],
      [`/v2/listeners/${id}/claims/${claimId}/logs`, { token, revision_id: randomUUID(), attempt: 1, entries }],
      [`/v2/listeners/${id}/claims/${claimId}/complete`, { token, step_id: randomUUID(), outcome: 'succeeded' }],
      [`/v2/listeners/${id}/claims/${claimId}/release`, { token }],
    ] as const
  }

  test('people’s keys are refused before anything else is checked', async () => {
    const listener = await connect()
    for (const role of ['admin', 'deployer', 'viewer'] as const) {
      for (const [path] of calls(listener.id)) {
        const answer = await app.call('POST', path, { key: app.keys[role], body: '{' })
        expect([answer.status, answer.body.detail], path).toEqual([
          ...[403, `This needs a listener's own key; the credential has the role ${role}.`],
        ])
      }
    }
  })

  test('another listener’s id is a 404: in this workspace, another one, or none', async () => {
    const listener = await connect()
    for (const other of [await connect(), await connect({}, app.other), { id: randomUUID() }]) {
      for (const [path, body] of calls(other.id)) {
        const answer = await app.call('POST', path, { key: listener.key, body })
        expect([answer.status, answer.body.detail], path).toEqual([404, `Listener ID ${other.id} not found.`])
      }
    }
  })

  test('another listener’s claim is lost, whatever the caller knows of it', async () => {
    const [listener, other] = [await connect(), await connect()]
    await create(other)
    const [claim] = await other.claim()
    for (const [path, body] of calls(listener.id, claim.claim_id).slice(2)) {
      const answer = await app.call('POST', path, { key: listener.key, body: { ...body, token: claim.token } })
      expect([answer.status, answer.body.code], path).toEqual([409, 'CLAIM_LOST'])
    }
    expect(await listener.beat([held(claim)])).toMatchObject([{ lost: true }])
    expect(await other.beat([held(claim)])).toMatchObject([{ lost: false }])
  })

  test('deployments of other listeners, and those without one, are never handed out to it', async () => {
    const [listener, sibling, foreign] = [await connect(), await connect(), await connect({}, app.other)]
    const mine = await create(listener)
    const theirs = await create(sibling)
    await app.create()
    expect(await foreign.claim({ max: 1000 })).toEqual([])
    expect((await listener.claim({ max: 1000 })).map((claim) => claim.deployment.id)).toEqual([mine.id])
    expect((await sibling.claim({ max: 1000 })).map((claim) => claim.deployment.id)).toEqual([theirs.id])
  })

  test('logs go only to revisions of the claim’s deployment', async () => {
    const listener = await connect()
    await create(listener)
    const [claim] = await listener.claim()
    const { latest_revision_id } = await app.create()
    const entries = [{ type: 'deploy', message: 'x', time: new Date().toISOString() }]
    const body = { token: claim.token, revision_id: latest_revision_id, attempt: 1, entries }
    const answer = await listener.post(`claims/${claim.claim_id}/logs`, body)
    expect([answer.status, answer.body.detail]).toEqual([404, `Revision ID ${latest_revision_id} not found.`])
  })

  test('a revoked key is refused', async () => {
    const listener = await connect()
    const { id } = await app.core.db.apiKey.findFirstOrThrow({ where: { listenerId: listener.id } })
    await app.core.db.apiKey.update({ where: { id }, data: { revokedAt: new Date() } })
    for (const [path, body] of calls(listener.id)) {
      const answer = await app.call('POST', path, { key: listener.key, body })
      expect(answer.status, path).toBe(401)
    }
  })
})

test('all violations of a call are reported together', async () => {
  const listener = await connect()
  expect(violations(await listener.post('claims', { max: 0, lease_seconds: 601, wait_seconds: 61 }))).toEqual([
    'body.lease_seconds less_than_equal',
    'body.max greater_than_equal',
    'body.wait_seconds less_than_equal',
  ])
  const items = [{ claim_id: 'x', token: '-1' }, { claim_id: randomUUID() }]
  expect(violations(await listener.post('heartbeat', { claims: items }))).toEqual([
    'body.claims.0.claim_id uuid_parsing',
    'body.claims.0.token string_pattern_mismatch',
    'body.claims.1.token missing',
  ])
  expect(violations(await listener.post('claims/x/complete', { token: '1', outcome: 'done' }))).toEqual([
    'body.outcome enum',
    'body.step_id missing',
    'path.claim_id uuid_parsing',
  ])
  for (const outcome of ['succeeded', 'failed', 'stopped']) {
    const report = { token: '1', step_id: randomUUID(), outcome, repo_commit_sha: 'main' }
    expect(violations(await listener.post(`claims/${randomUUID()}/complete`, report))).toEqual([
      'body.repo_commit_sha string_pattern_mismatch',
    ])
  }
})

test('every call updates last_seen_at; version and classes are shown, and the listener counts as unedited', async () => {
  const listener = await connect({ lastSeenAt: null })
  const silent = () =>
    app.core.db
      .$executeRaw`UPDATE listeners SET last_seen_at = now() - interval '1 hour' WHERE id = ${listener.id}::uuid`
  const age = async () => Date.now() - (await listener.row()).lastSeenAt!.getTime()
  await listener.claim({ version: '1.2.3', pod_classes: ['gpu'] })
  expect(await age()).toBeLessThan(60_000)
  await silent()
  await listener.beat([])
  expect(await age()).toBeLessThan(60_000)
  await silent()
  await listener.claim()
  const row = await listener.row()
  expect(await age()).toBeLessThan(60_000)
  expect(row).toMatchObject({ version: '1.2.3', podClasses: ['gpu'], updatedAt: listener.updatedAt })
  // unchanged values are not written again, but a new version and other classes are
  await listener.claim({ version: '1.2.3', pod_classes: ['gpu'] })
  expect((await listener.row()).lastSeenAt).toEqual(row.lastSeenAt)
  await listener.claim({ version: '1.2.4' })
  expect(await listener.row()).toMatchObject({ version: '1.2.4', podClasses: ['gpu'] })
  await listener.claim({ pod_classes: [] })
  expect(await listener.row()).toMatchObject({ version: '1.2.4', podClasses: [] })
})

test('a thousand claims fit into one heartbeat, a thousand lines into one call; a larger body is refused', async () => {
  const listener = await connect()
  await create(listener)
  const [claim] = await listener.claim()
  const health = { ready: 3, desired: 10, message: 'x'.repeat(700) }
  const claims = Array.from({ length: 999 }, () => ({
    claim_id: randomUUID(),
    token: '9'.repeat(18),
    generation: 2_147_483_647,
    health,
  }))
  const answers = await listener.beat([held(claim), ...claims])
  expect(answers).toHaveLength(1000)
  expect(answers.map(({ lost }) => lost)).toEqual([false, ...claims.map(() => true)])

  const { latestRevisionId } = await app.core.db.deployment.findUniqueOrThrow({ where: { id: claim.deployment.id } })
  const logs = (length: number) =>
    listener.post(`claims/${claim.claim_id}/logs`, {
      token: claim.token,
      revision_id: latestRevisionId,
      attempt: 1,
      entries: Array.from({ length: 1000 }, () => ({
        type: 'deploy',
        message: 'x'.repeat(length),
        time: new Date().toISOString(),
      })),
    })
  expect((await logs(900)).status).toBe(204)
  expect((await logs(1100)).status).toBe(413)
})

test('an image’s address is the reported one, or its custom URL', async () => {
  const listener = await connect()
  const deployment = await create(listener)
  const path = `/v2/deployments/${deployment.id}`
  const shown = async () => {
    const { url, source_config } = (await app.call('GET', path)).body
    const { data } = await app.gql('query ($id: ID!) { deployment(id: $id) { url } }', { id: deployment.id })
    expect(data.deployment.url).toBe(url)
    return [url, source_config.custom_url]
  }
  expect(await shown()).toEqual([null, null])
  const [claim] = await listener.claim()
  const { assignment } = await listener.succeed(claim, claim.step)
  const inside = `http://ph-${deployment.id}.agents.svc`
  await listener.succeed(claim, assignment.step, { url: inside })
  expect(await shown()).toEqual([inside, null])
  const given = 'https://agent.example.com/'
  await app.call('PATCH', path, { body: { source_config: { custom_url: given } } })
  expect(await shown()).toEqual([given, given])
})

test('a deployment that is released repeatedly does not keep the others waiting', async () => {
  const listener = await connect()
  const first = await create(listener)
  const second = await create(listener)
  const next = async () => {
    const [claim] = await listener.claim({ max: 1 })
    await listener.post(`claims/${claim.claim_id}/release`, { token: claim.token })
    return claim.deployment.id
  }
  expect([await next(), await next(), await next(), await next()]).toEqual([first.id, second.id, first.id, second.id])
})
