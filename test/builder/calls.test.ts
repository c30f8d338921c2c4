// A builder's calls to the control plane over HTTP, against a server with answers that the test chooses.
import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BuildAccess, createBuildAccess } from '../../src/builder/build-access.ts'
import { builderControlPlane } from '../../src/builder/control-plane.ts'
import { ClaimLostError } from '../../src/domain/errors/errors.ts'
import { snake } from '../../src/domain/parsing/codec.ts'
import { WORK_COLUMNS } from '../../src/domain/protocol/answers.ts'
import { ControlPlaneRefused } from '../../src/listener/call.ts'
import type { RemoteControlPlane } from '../../src/listener/control-plane.ts'
import { claimOf, never } from '../dataplane/support.ts'
import { type ScriptedServer, scriptedServer } from '../listener/scripted-server.ts'
import { readableLog } from '../listener/support.ts'

const apiKey = `cpk_${'canarykey'.repeat(5)}`
let server: ScriptedServer
let plane: RemoteControlPlane
let access: BuildAccess
let log: ReturnType<typeof readableLog>
beforeEach(async () => {
  server = await scriptedServer()
  log = readableLog()
  plane = builderControlPlane({ url: server.url, apiKey, log: log.log })
  access = createBuildAccess(plane.caller)
})
afterEach(async () => {
  plane.close()
  await server.close()
})

const held = claimOf()
const revisionId = randomUUID()
const during = <T>(work: () => Promise<T>) => access.withClaim(held, revisionId, work)
const repository = { name: 'registry.test/w/d', insecure: false, username: 'token', password: 'canary' }
const granted = { repository, git: null, tarball: true, failure: null }
const revision = {
  ...Object.fromEntries(Object.keys(WORK_COLUMNS).map((column) => [snake(column), null])),
  id: revisionId,
  number: 1,
  attempt: 1,
  source: 'internal_source',
  graph_config_path: 'graph.json',
  source_tarball_path: 'a/b',
  secrets: [{ name: 'TOKEN', value: 'canary' }],
}
const offered = () => ({
  claim_id: randomUUID(),
  token: '3',
  lease_seconds: 30,
  deployment: { id: randomUUID(), workspace_id: randomUUID(), name: 'agent' },
  step_id: randomUUID(),
  tries: 2,
  seconds_left: 900.5,
  revision,
})
const error = (code: string, detail = 'canary') => ({ detail, code, request_id: 'x' })

test('a claimed build becomes a claim with one step, and an unreadable one does not block the others', async () => {
  const one = offered()
  server.answer = () => ({ body: { claims: [{ ...one, revision: 'canary' }, one] } })
  const claims = await plane.claim({ holder: 'build-1', max: 2, leaseSeconds: 30, waitSeconds: 5.9 })
  expect(server.asked[0]).toMatchObject({
    path: '/v2/builders/claims',
    headers: { 'x-api-key': apiKey },
    body: { holder: 'build-1', max: 2, lease_seconds: 30, wait_seconds: 5 },
  })
  expect(claims).toMatchObject([
    {
      claimId: one.claim_id,
      token: '3',
      run: null,
      step: { id: one.step_id, kind: 'BUILD', tries: 2, secondsLeft: 900.5, revision: { id: revisionId } },
    },
  ])
  expect(log.text()).not.toContain('canary')
})

test('a heartbeat reports which builds were taken away', async () => {
  server.answer = () => ({ body: { claims: [{ claim_id: held.claimId, lost: true }] } })
  const claims = [{ claimId: held.claimId, token: '3', generation: 1 }]
  expect(await plane.heartbeat({ leaseSeconds: 30, waitSeconds: 0, claims })).toEqual([
    { claimId: held.claimId, lost: true, assignment: null },
  ])
  expect(server.asked[0]!.body).toEqual({
    lease_seconds: 30,
    wait_seconds: 0,
    claims: [{ claim_id: held.claimId, token: '3' }],
  })
})

const succeeded = { claimId: held.claimId, token: '3', stepId: randomUUID(), outcome: 'succeeded' as const }

test('a claim ends with its report, even if the build was taken away before', async () => {
  server.answer = () => ({ body: { recorded: false } })
  expect(await plane.complete({ ...succeeded, artifact: 'image:a' })).toMatchObject({ recorded: false, over: true })
  expect(server.asked[0]!.body).toEqual({ token: '3', outcome: 'succeeded', artifact: 'image:a' })
})

test('a report that the control plane rejects is replaced by a failure, so the build ends', async () => {
  server.answer = ({ body }) =>
    body.outcome === 'succeeded' ? { status: 422, body: error('VALIDATION_FAILED') } : { body: { recorded: true } }
  expect(await plane.complete({ ...succeeded, artifact: 'image:a' })).toMatchObject({ recorded: false, over: true })
  expect(server.asked[1]!.body).toMatchObject({ token: '3', outcome: 'failed', reason: 'INTERNAL' })
})

test('log lines are sent without a type, because all belong to the build', async () => {
  server.answer = () => ({ status: 204 })
  const time = new Date()
  const entries = [{ type: 'build' as const, level: 'info' as const, message: 'one', time }]
  await plane.logs({ claimId: held.claimId, token: '3', revisionId, attempt: 1, entries })
  expect(server.asked[0]).toMatchObject({ path: `/v2/builders/claims/${held.claimId}/logs` })
  expect(server.asked[0]!.body).toEqual({
    token: '3',
    entries: [{ level: 'info', message: 'one', time: time.toISOString() }],
  })
})

describe('the message of a refused call says what to do', () => {
  test.each([
    [401, error('UNAUTHENTICATED'), /See CONTROL_PLANE_API_KEY/],
    [403, error('FORBIDDEN'), /to a key of role `builder`/],
    [404, error('NOT_FOUND'), /knows no builders/],
    [404, 'canary', /is no control plane with builders: see CONTROL_PLANE_URL/],
  ])('%i', async (status, body, message) => {
    server.answer = () => ({ status, body })
    const thrown = await plane.claim({ holder: 'a', max: 1, leaseSeconds: 30 }).catch((error: Error) => error)
    expect(thrown).toBeInstanceOf(ControlPlaneRefused)
    expect(`${(thrown as Error).message}`).toMatch(message)
    expect(`${(thrown as Error).stack}`).not.toContain('canary')
  })
})

describe('the access data of a build', () => {
  test('is requested once, and again after the control plane was unreachable', async () => {
    let away = true
    server.answer = () => {
      if (!away) return { body: granted }
      away = false
      return { status: 503 }
    }
    await during(async () => {
      expect(await access.store.repository(held.deployment.id, never)).toEqual({
        name: 'registry.test/w/d',
        insecure: false,
        credentials: { username: 'token', password: 'canary' },
      })
      expect(await access.sources.gitCredentials(held.deployment.id, never)).toBeNull()
    })
    expect(server.asked).toHaveLength(2)
    expect(server.asked[1]).toMatchObject({
      path: `/v2/builders/claims/${held.claimId}/access`,
      body: { token: held.token },
    })
  })

  test('contains the present URL of a renamed repository', async () => {
    const git = { username: 'x-access-token', password: 'canary', repo_url: 'https://git.test/acme/new-name.git' }
    server.answer = () => ({ body: { ...granted, git } })
    const credentials = await during(() => access.sources.gitCredentials(held.deployment.id, never))
    expect(credentials).toMatchObject({ username: 'x-access-token', repoUrl: git.repo_url })
  })

  test('can be refused: the build fails with the given reason', async () => {
    const failure = { reason: 'INTEGRATION_UNAVAILABLE', message: 'Connect it again.' }
    server.answer = () => ({ body: { repository: null, git: null, tarball: false, failure } })
    const asked = during(() => access.store.repository(held.deployment.id, never))
    await expect(asked).rejects.toMatchObject({ name: 'StepFailure', ...failure })
  })

  test('includes the tarball, byte for byte', async () => {
    server.answer = () => ({ body: 'the bytes' })
    const bytes = await during(async () => buffer(await access.sources.tarball(revisionId, never)))
    expect(bytes.toString()).toBe('the bytes')
    expect(server.asked[0]!.path).toBe(`/v2/builders/claims/${held.claimId}/tarball?token=${held.token}`)
  })

  test('includes no deleted tarball: the build fails with a message that says what to do', async () => {
    server.answer = () => ({ status: 404, body: error('NOT_FOUND', 'It was removed: upload it again.') })
    const asked = during(() => access.sources.tarball(revisionId, never))
    await expect(asked).rejects.toMatchObject({
      name: 'StepFailure',
      reason: 'TARBALL_UNAVAILABLE',
      message: 'It was removed: upload it again.',
    })
  })

  test('includes a tarball that breaks off: its reader gets an error', async () => {
    server.answer = (_asked, response) => {
      response.writeHead(200, { 'content-length': 1000 })
      response.write('a part', () => response.destroy())
      return 'silence'
    }
    const reading = during(async () => buffer(await access.sources.tarball(revisionId, never)))
    await expect(reading).rejects.toThrow()
  })

  test('is not available for a build that was taken away', async () => {
    server.answer = () => ({ status: 409, body: error('CLAIM_LOST') })
    await expect(during(() => access.store.repository(held.deployment.id, never))).rejects.toThrow(ClaimLostError)
    await expect(during(() => access.sources.tarball(revisionId, never))).rejects.toThrow(ClaimLostError)
  })
})
