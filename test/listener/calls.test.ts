// Control plane calls over HTTP, against a scripted server: errors, limits, sizes, and that no secret leaks.
import { randomUUID } from 'node:crypto'
import net from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ClaimLostError } from '../../src/domain/errors/errors.ts'
import { toWire } from '../../src/domain/parsing/codec.ts'
import { claim as claimMessage } from '../../src/domain/protocol/answers.ts'
import { ControlPlaneRefused, ControlPlaneUnreachable } from '../../src/listener/call.ts'
import { type RemoteControlPlane, remoteControlPlane } from '../../src/listener/control-plane.ts'
import { claimOf } from '../dataplane/support.ts'
import { type ScriptedServer, scriptedServer } from './scripted-server.ts'
import { readableLog } from './support.ts'

const apiKey = `cpk_${'canarykey'.repeat(5)}`
const listenerId = randomUUID()
let server: ScriptedServer
let plane: RemoteControlPlane
let log: ReturnType<typeof readableLog>
beforeEach(async () => {
  server = await scriptedServer()
  log = readableLog()
  plane = remoteControlPlane({ url: `${server.url}/`, apiKey, listenerId, log: log.log })
})
afterEach(async () => {
  plane.close()
  await server.close()
})

const claim = (signal?: AbortSignal) =>
  plane.claim({ holder: 'a:1:x', max: 20, leaseSeconds: 30, version: '9' }, signal)
const held = { claimId: randomUUID(), token: '7' }
const complete = () => plane.complete({ ...held, stepId: randomUUID(), outcome: 'succeeded' })
const thrownBy = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('it went well'),
    (error: Error) => error,
  )
const error = (code: string, detail: unknown = 'canary of the answer') => ({ detail, code, request_id: 'x' })

test('a call carries the key, the listener and its arguments', async () => {
  server.answer = () => ({ body: { claims: [] } })
  expect(await claim()).toEqual([])
  const [asked] = server.asked
  expect(asked).toMatchObject({
    path: `/v2/listeners/${listenerId}/claims`,
    headers: { 'x-api-key': apiKey },
    body: { holder: 'a:1:x', max: 20, lease_seconds: 30, wait_seconds: 0, version: '9' },
  })
})

describe('a failed call’s error', () => {
  test.each([
    [401, error('UNAUTHENTICATED'), /key: it is unknown, expired or was revoked\. See CONTROL_PLANE_API_KEY/],
    [403, error('FORBIDDEN'), /must be one of role `listener`/],
    [403, error('PLAN_REQUIRED'), /plan has no listeners/],
    [404, error('NOT_FOUND'), new RegExp(`there is no listener ${listenerId}: see LISTENER_ID`)],
    [404, 'canary', /is no control plane with listeners: see CONTROL_PLANE_URL/],
    [301, 'canary', /is no control plane with listeners/],
    [
      422,
      error('VALIDATION_FAILED', [{ loc: ['body', 'wait_seconds'], msg: 'canary', type: 'canary' }]),
      /does not understand this listener \(body\.wait_seconds\): update/,
    ],
    [413, error('PAYLOAD_TOO_LARGE'), /refuses the call: 413 PAYLOAD_TOO_LARGE/],
  ])('the error for %i %j says what to do', async (status, body, message) => {
    server.answer = () => ({ status, body, headers: { location: `${server.url}/elsewhere` } })
    const thrown = await thrownBy(claim())
    expect(thrown).toBeInstanceOf(ControlPlaneRefused)
    expect(thrown.message).toMatch(message)
    expect(`${thrown.stack}`).not.toContain('canary')
    expect(server.asked).toHaveLength(1)
  })

  test.each([429, 500, 502, 503])('a response %i can be retried', async (status) => {
    server.answer = () => ({ status, body: 'canary' })
    const thrown = await thrownBy(claim())
    expect(thrown).toBeInstanceOf(ControlPlaneUnreachable)
    expect(thrown.message).toBe(`The control plane answered ${status}`)
  })

  test('a lost claim is its own error', async () => {
    server.answer = () => ({ status: 409, body: error('CLAIM_LOST') })
    await expect(complete()).rejects.toThrow(ClaimLostError)
    await expect(plane.release(held)).rejects.toThrow(ClaimLostError)
  })

  test('an unreachable control plane’s error names its address', async () => {
    await server.close()
    const thrown = await thrownBy(claim())
    expect(thrown).toBeInstanceOf(ControlPlaneUnreachable)
    expect(thrown.message).toMatch(/at http:\/\/127\.0\.0\.1:\d+ can't be reached \(ECONNREFUSED\)/)
    server = await scriptedServer()
  })

  test('a response that is not the control plane’s is refused', async () => {
    for (const body of ['canary', '{"claims": "canary"}', '']) {
      server.answer = () => ({ body })
      const thrown = await thrownBy(claim())
      expect(thrown).toBeInstanceOf(ControlPlaneRefused)
      expect(`${thrown.stack}`).not.toContain('canary')
    }
  })
})

test('a call is not sent before the Retry-After time', async () => {
  server.answer = () => ({ status: 429, headers: { 'retry-after': '1' } })
  await thrownBy(claim())
  const asked = performance.now()
  server.answer = () => ({ body: { claims: [] } })
  for (;;) {
    const answer = await claim().catch((thrown: Error) => thrown)
    if (Array.isArray(answer)) break
    expect(answer.message).toMatch(/left alone for 1 s/)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  expect(performance.now() - asked).toBeGreaterThan(900)
  expect(server.asked).toHaveLength(2)
})

const beat = (leaseSeconds: number) => plane.heartbeat({ leaseSeconds, claims: [{ ...held, generation: 1 }] })

test('a heartbeat is sent while other calls wait for their Retry-After time', async () => {
  server.answer = () => ({ status: 429, headers: { 'retry-after': '60' } })
  await thrownBy(claim())
  server.answer = () => ({ body: { claims: [] } })
  expect((await thrownBy(claim())).message).toMatch(/left alone for 60 s/)
  expect(await beat(30)).toEqual([])
})

test('a heartbeat waits for Retry-After no longer than its leases allow', async () => {
  server.answer = () => ({ status: 503, headers: { 'retry-after': '60' } })
  await thrownBy(beat(30))
  server.answer = () => ({ body: { claims: [] } })
  expect((await thrownBy(beat(30))).message).toMatch(/left alone for 5 s/)
  expect(await claim()).toEqual([])
})

test('an aborted long poll also ends on the server', async () => {
  let closed: Promise<unknown> | undefined
  const begun = new Promise<void>((resolve) => {
    server.answer = (_asked, response) => {
      closed = new Promise((done) => response.once('close', done))
      resolve()
      return 'silence'
    }
  })
  const abort = new AbortController()
  const waiting = plane.claim({ holder: 'a', max: 1, leaseSeconds: 30, waitSeconds: 60 }, abort.signal)
  await begun
  abort.abort()
  await expect(waiting).rejects.toThrow(/abort/)
  await closed
})

test('a connection is reused, and one that the server closed in between costs no call', async () => {
  server.answer = () => ({ body: { claims: [] } })
  for (let i = 0; i < 5; i++) await claim()
  expect(server.connections).toBe(1)
  // the server closes the connection before the client can notice
  let cut = false
  server.answer = (_asked, response) => {
    if (cut) return { body: { claims: [] } }
    cut = true
    response.socket!.resetAndDestroy()
    return 'silence'
  }
  expect(await claim()).toEqual([])
  expect(cut).toBe(true)
})

test('a server that never answers does not block a call forever', async () => {
  const mute = net.createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => mute.once('listening', resolve))
  const url = `http://127.0.0.1:${(mute.address() as net.AddressInfo).port}`
  const other = remoteControlPlane({ url, apiKey, listenerId, log: log.log, callMs: 300 })
  const began = performance.now()
  const thrown = await thrownBy(other.claim({ holder: 'a', max: 1, leaseSeconds: 30, waitSeconds: 1 }))
  expect(thrown).toBeInstanceOf(ControlPlaneUnreachable)
  const took = performance.now() - began
  expect(took).toBeGreaterThan(1200)
  expect(took).toBeLessThan(5000)
  other.close()
  mute.close()
})

describe('requests stay below the control plane’s size limits', () => {
  const MiB = 1024 * 1024

  test('log lines are split into batches', async () => {
    const message = '\u0001'.repeat(9000)
    const time = new Date()
    const entries = Array.from({ length: 100 }, (_, i) => ({
      type: 'deploy' as const,
      message: `${i} ${message}`,
      time,
    }))
    await plane.logs({ ...held, revisionId: randomUUID(), attempt: 1, entries })
    expect(server.asked.length).toBeGreaterThan(1)
    for (const { bytes } of server.asked) expect(bytes).toBeLessThan(MiB)
    const lines = server.asked.flatMap(({ body }) => body.entries)
    expect(lines.map((line: { message: string }) => Number.parseInt(line.message, 10))).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    )
  })

  test('a heartbeat of many claims is split, and each claim gets one answer in order', async () => {
    server.answer = ({ body }) => ({
      body: { claims: body.claims.map((one: object) => ({ ...one, lost: false, assignment: null })) },
    })
    const claims = Array.from({ length: 1000 }, () => ({
      claimId: randomUUID(),
      token: '1',
      generation: 5,
      health: { ready: 0, desired: 1, message: '€'.repeat(2000) },
    }))
    const answers = await plane.heartbeat({ leaseSeconds: 30, waitSeconds: 20, claims })
    expect(answers.map(({ claimId }) => claimId)).toEqual(claims.map(({ claimId }) => claimId))
    for (const { bytes, body } of server.asked) {
      expect(bytes).toBeLessThan(MiB)
      expect(body.wait_seconds).toBeLessThanOrEqual(1)
      expect(body.claims[0].health.message).toHaveLength(1024)
    }
  })

  test('a heartbeat of a thousand claims without problems is one call', async () => {
    server.answer = ({ body }) => ({
      body: { claims: body.claims.map((one: object) => ({ ...one, lost: false, assignment: null })) },
    })
    const health = { ready: 3, desired: 3, message: null }
    const claims = Array.from({ length: 1000 }, () => ({ claimId: randomUUID(), token: '1', generation: 5, health }))
    expect(await plane.heartbeat({ leaseSeconds: 30, waitSeconds: 10, claims })).toHaveLength(1000)
    expect(server.asked).toHaveLength(1)
    expect(server.asked[0]!.body.wait_seconds).toBe(10)
  })
})

test('refused log lines don’t block the next ones', async () => {
  server.answer = () => ({ status: 422, body: error('VALIDATION_FAILED', []) })
  const entries = [{ type: 'deploy' as const, message: 'canary', time: new Date() }]
  await plane.logs({ ...held, revisionId: randomUUID(), attempt: 1, entries })
  expect(log.text()).toContain('rejected log lines')
  expect(log.text()).not.toContain('canary')
})

test('a report that the control plane refuses is repeated as a failure, so that the step ends', async () => {
  const { step: _step, ...nothing } = toWire(claimMessage, claimOf())
  const answer = { recorded: true, assignment: { ...nothing, step: null } }
  server.answer = ({ body }) =>
    body.outcome === 'failed' ? { body: answer } : { status: 422, body: error('VALIDATION_FAILED', []) }
  const stepId = randomUUID()
  const { recorded } = await plane.complete({ ...held, stepId, outcome: 'succeeded', url: 'canary' })
  expect(recorded).toBe(false)
  expect(server.asked[1]!.body).toMatchObject({ token: held.token, step_id: stepId, outcome: 'failed' })
  expect(server.asked).toHaveLength(2)
  expect(log.text()).toContain('rejected the report of a step')
  expect(log.text()).not.toContain('canary')
})

test.each(['failed', 'stopped'] as const)('a build that %s reports its commit', async (outcome) => {
  server.answer = () => ({ status: 503 })
  const repoCommitSha = 'c0ffee'.padEnd(40, '0')
  await thrownBy(plane.complete({ ...held, stepId: randomUUID(), outcome, repoCommitSha }))
  expect(server.asked[0]!.body).toMatchObject({ outcome, repo_commit_sha: repoCommitSha })
})

test('text that can’t be stored does not make a whole heartbeat, report or log batch fail', async () => {
  server.answer = () => ({ status: 503 })
  const strange = 'a\0b\ud800c'
  // the cut splits the surrogate pair
  const long = `${'x'.repeat(1023)}😀`
  const claims = [strange, long].map((message) => ({ ...held, health: { ready: 0, desired: 1, message } }))
  await thrownBy(plane.heartbeat({ leaseSeconds: 30, claims }))
  await thrownBy(plane.complete({ ...held, stepId: randomUUID(), outcome: 'failed', message: strange }))
  const entries = [{ type: 'deploy' as const, message: strange, time: new Date() }]
  await thrownBy(plane.logs({ ...held, revisionId: randomUUID(), attempt: 1, entries }))
  const [beat, report, logs] = server.asked.map(({ body }) => body)
  expect(beat.claims.map((one: { health: { message: string } }) => one.health.message)).toEqual([
    'a\ufffdb\ufffdc',
    `${'x'.repeat(1023)}\ufffd`,
  ])
  expect(report.message).toBe('a\ufffdb\ufffdc')
  expect(logs.entries[0].message).toBe('a\ufffdb\ufffdc')
})

test('waits are rounded down to whole seconds', async () => {
  server.answer = () => ({ body: { claims: [] } })
  await plane.claim({ holder: 'a', max: 1, leaseSeconds: 3, waitSeconds: 0.75 })
  await plane.heartbeat({ leaseSeconds: 7, waitSeconds: 1.75, claims: [held] })
  expect(server.asked.map(({ body }) => body.wait_seconds)).toEqual([0, 1])
})

test('a release is retried until the control plane answers', async () => {
  server.answer = () => (server.asked.length < 3 ? { status: 503 } : { status: 204 })
  await plane.release(held)
  expect(server.asked).toHaveLength(3)
  expect(server.asked[0]!.path).toBe(`/v2/listeners/${listenerId}/claims/${held.claimId}/release`)
})

test('an unreadable assignment of one deployment does not block the others', async () => {
  const good = toWire(claimMessage, claimOf())
  const strange = { ...toWire(claimMessage, claimOf()), run: { revision: { source: 'canary' } } }
  server.answer = () => ({ body: { claims: [strange, good] } })
  const claims = await claim()
  expect(claims.map(({ claimId }) => claimId)).toEqual([good.claim_id])
  expect(log.text()).toContain('run.revision')
  server.answer = () => ({
    body: { claims: [{ claim_id: held.claimId, lost: false, assignment: { canary: 'canary' } }] },
  })
  const beat = () => plane.heartbeat({ leaseSeconds: 30, claims: [{ ...held, generation: 1 }] })
  expect(await beat()).toEqual([{ claimId: held.claimId, lost: false, assignment: null }])
  const complaints = log.lines.length
  await beat()
  expect(log.lines).toHaveLength(complaints)
  expect(log.text()).not.toContain('canary')
})
