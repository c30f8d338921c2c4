// A locked deployment row delays only requests for that row.
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import type { Claim, ControlPlane } from '../../src/domain/protocol/protocol.ts'
import type { Core } from '../../src/domain/transaction/context.ts'
import { type Answer, type TestApp, testApp } from '../support/app.ts'

/** longer than the calls between two renewals take on a busy machine */
const LEASE_SECONDS = 5

let app: TestApp
let plane: ControlPlane
/** ids of two deployments, `locked` and `free` */
let claims: Claim[]
/** who locks */
let hung: pg.Client

beforeAll(async () => {
  app = await testApp({ settings: { DATABASE_QUERY_SECONDS: '4' } })
  const own: Core = {
    ...app.app.core,
    ...app.app.database.background,
  }
  plane = localControlPlane(own)
  for (const name of ['locked', 'free', 'other']) await app.rest('POST', '/v2/deployments', { body: body(name) })
  claims = await plane.claim({ holder: 'one', max: 2, leaseSeconds: LEASE_SECONDS })
  hung = new pg.Client(app.databaseUrl)
  await hung.connect()
})
afterAll(async () => {
  await hung.end()
  await app.close()
})

const body = (name: string) => ({
  name,
  source: 'external_container',
  source_config: {},
  source_revision_config: { image_uri: 'registry.example.com/acme/agent:1' },
  secrets: [],
})
const beat = () =>
  plane.heartbeat({
    leaseSeconds: LEASE_SECONDS,
    claims: claims.map(({ claimId, token, generation }) => ({ claimId, token, generation })),
  })
const patch = (id: string, tag: string) =>
  app.rest('PATCH', `/v2/deployments/${id}`, {
    body: { source_revision_config: { image_uri: `registry.example.com/acme/agent:${tag}` } },
  })
const outcome = ({ status, body, headers }: Answer) =>
  status === 200 ? 'written' : `${status} ${body.code} ${Number(headers.get('retry-after')) > 0}`

test('twelve writers to a locked row get a retryable error; health, other deployments and all leases are unaffected', async () => {
  const [locked, free] = claims.map(({ deployment }) => deployment.id) as [string, string]
  await hung.query('BEGIN')
  await hung.query('SELECT 1 FROM deployments WHERE id = $1 FOR UPDATE', [locked])
  const writers = Promise.all(Array.from({ length: 12 }, (_, index) => patch(locked, `v${index}`)))
  let waiting = true
  void writers.finally(() => {
    waiting = false
  })

  expect((await patch(free, 'v1')).status).toBe(200)
  expect((await app.rest('GET', `/v2/deployments/${free}`)).status).toBe(200)
  expect((await app.rest('GET', '/readyz', { key: null })).status).toBe(200)
  expect(waiting).toBe(true)

  // past the lease end that the row shows
  for (let over = false; !over; ) {
    expect((await beat()).map(({ lost }) => lost)).toEqual([false, false])
    const { rows } = await hung.query<{ over: boolean }>(
      'SELECT lease_expires_at < clock_timestamp() AS over FROM deployments WHERE id = $1',
      [locked],
    )
    over = rows[0]!.over
  }
  const answers = await writers
  expect([...new Set(answers.map(outcome))]).toEqual(['503 UNAVAILABLE true'])
  expect(answers[0]!.body.detail).toContain('deployment')

  await beat()
  await hung.query('ROLLBACK')
  // a claim request now finds the lease where it was stored
  const others = await plane.claim({ holder: 'two', max: 10, leaseSeconds: LEASE_SECONDS })
  expect(others.map(({ deployment }) => deployment.name)).toEqual(['other'])
  expect((await beat()).map(({ lost }) => lost)).toEqual([false, false])
  expect((await patch(locked, 'v99')).status).toBe(200)
})

test('64 concurrent writers to one deployment all succeed, and its lease is still renewed', async () => {
  const [locked] = claims.map(({ deployment }) => deployment.id) as [string]
  const writers = Promise.all(Array.from({ length: 64 }, (_, index) => patch(locked, `w${index}`)))
  let writing = true
  void writers.finally(() => {
    writing = false
  })
  const took: number[] = []
  while (writing) {
    const begun = performance.now()
    expect((await beat()).map(({ lost }) => lost)).toEqual([false, false])
    took.push(performance.now() - begun)
  }
  expect([...new Set((await writers).map(outcome))]).toEqual(['written'])
  expect(Math.max(...took)).toBeLessThan(LEASE_SECONDS * 1000)
})

test('writers beyond a deployment’s queue limit are refused immediately, without a connection', async () => {
  const [locked] = claims.map(({ deployment }) => deployment.id) as [string]
  await hung.query('BEGIN')
  await hung.query('SELECT 1 FROM deployments WHERE id = $1 FOR UPDATE', [locked])
  const writers = Array.from({ length: 135 }, (_, index) => patch(locked, `x${index}`))
  expect(outcome(await Promise.race(writers))).toBe('503 UNAVAILABLE true')
  expect(app.app.database.pools.api.totalCount - app.app.database.pools.api.idleCount).toBeLessThanOrEqual(2)
  await hung.query('ROLLBACK')
  const answers = (await Promise.all(writers)).map(outcome)
  expect(answers.filter((answer) => answer === 'written').length).toBeGreaterThan(20)
  // on a busy machine the key's limit may refuse them first
  const comeAgain = ['503 UNAVAILABLE true', '429 RATE_LIMITED true']
  expect(answers.filter((answer) => answer !== 'written' && !comeAgain.includes(answer))).toEqual([])
}, 90_000)

test('writers that wait for one workspace’s event log leave connections for readers', async () => {
  await hung.query('BEGIN')
  await hung.query('SELECT 1 FROM event_counters FOR UPDATE')
  let answered = 0
  const writers = Array.from({ length: 24 }, (_, index) =>
    app.rest('POST', '/v2/deployments', { body: body(`late-${index}`) }).finally(() => answered++),
  )
  const [, free] = claims.map(({ deployment }) => deployment.id) as [string, string]
  // all of them now hold their share of the pool
  await vi.waitUntil(() => app.app.database.pools.api.totalCount - app.app.database.pools.api.idleCount >= 5, {
    timeout: 15_000,
  })
  expect((await app.rest('GET', `/v2/deployments/${free}`)).status).toBe(200)
  expect(answered).toBe(0)
  await hung.query('ROLLBACK')
  const answers = (await Promise.all(writers)).map(({ status, headers }) => [status, headers.has('retry-after')])
  expect(answers.every(([status, retry]) => status === 201 || (status === 503 && retry))).toBe(true)
})
