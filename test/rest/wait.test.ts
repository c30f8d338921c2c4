/** `?wait=`: a call that answers when its resource has changed, and costs the database nothing until then. */
import { describe, expect, test } from 'vitest'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { waitUntil } from '../../src/domain/transaction/wait.ts'
import { isTerminal } from '../../src/domain/values/lifecycle.ts'
import { newKey, testApp, useApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'
import { claimOne, settle } from '../support/holder.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

const app = useApp(() => ({ settings: { REQUESTS_AT_ONCE: '0' } }))

interface Ids {
  deploymentId: string
  revisionId: string
}

async function deployed(on = app): Promise<Ids> {
  const { id, latest_revision_id } = await imageDeployment(on)
  return { deploymentId: id, revisionId: latest_revision_id }
}

const pathOf = ({ deploymentId, revisionId }: Ids) => `/v2/deployments/${deploymentId}/revisions/${revisionId}`
const waitFor = (ids: Ids, seconds: number | string = 60, key = app.keys.viewer, on = app) =>
  on.rest('GET', `${pathOf(ids)}?wait=${seconds}`, { key })
const waitForDeployment = ({ deploymentId }: Ids, seconds = 60) =>
  app.rest('GET', `/v2/deployments/${deploymentId}?wait=${seconds}`)
const interrupt = (ids: Ids) => app.rest('POST', `${pathOf(ids)}/interrupt`)
const redeploy = (ids: Ids) => app.rest('POST', `${pathOf(ids)}/redeploy`)
/** Resolves when this many calls wait. */
const waiting = (count: number, on = app) =>
  expect.poll(() => on.app.core.slots!.waits.inUse, { interval: 5, timeout: 15_000 }).toBe(count)

test('a revision is answered the moment its work has ended, immediately if it already has', async () => {
  const ids = await deployed()
  const asked = waitFor(ids)
  await waiting(1)
  await interrupt(ids)
  expect(await asked).toMatchObject({ status: 200, body: { id: ids.revisionId, status: 'INTERRUPTED' } })
  expect((await waitFor(ids)).body.status).toBe('INTERRUPTED')
  await waiting(0)
})

test('when the time is up the current state is answered', async () => {
  const ids = await deployed()
  expect(await waitFor(ids, 1)).toMatchObject({ status: 200, body: { status: 'CREATING' } })
  expect(await waitForDeployment(ids, 1)).toMatchObject({ status: 200, body: { latest_revision_id: ids.revisionId } })
  await waiting(0)
})

test('a change at another server ends the wait, too', async () => {
  const beside = await testApp({ beside: app })
  try {
    const ids = await deployed()
    const asked = waitFor(ids, 60, app.keys.viewer, beside)
    await waiting(1, beside)
    await interrupt(ids)
    expect((await asked).body.status).toBe('INTERRUPTED')
  } finally {
    await beside.close()
  }
})

test('a deployment is answered when its newest rollout has ended: that of a redeploy, or a newer one', async () => {
  const ids = await deployed()
  await interrupt(ids)
  // its newest revision ended long ago, and so did its only rollout
  expect((await waitForDeployment(ids)).status).toBe(200)
  await redeploy(ids)
  const asked = waitForDeployment(ids)
  await waiting(1)
  // the redeploy is superseded by a newer rollout, which is no end
  const made = await app.rest('POST', `/v2/deployments/${ids.deploymentId}/revisions`, { body: {} })
  let answered = false
  void asked.then(() => {
    answered = true
  })
  const newest = { ...ids, revisionId: made.body.id }
  expect((await waitFor(ids, 60)).body.status).toBe('SKIPPED')
  expect(answered).toBe(false)
  await settle(localControlPlane(app.app.core))
  expect((await asked).body).toMatchObject({ active_revision_id: newest.revisionId })
  // a redeploy of the older one is the newest rollout now, though not of the newest revision
  await redeploy(ids)
  const again = waitForDeployment(ids)
  await waiting(1)
  await interrupt(ids)
  expect((await again).status).toBe(200)
})

test('the deletion of its deployment ends a revision, and the wait; if nothing of it is left the answer is 404', async () => {
  const ids = await deployed()
  // a holder works on it, and must tear it down
  await claimOne(localControlPlane(app.app.core), ids.deploymentId)
  const unused = await deployed()
  const asked = [waitFor(ids), waitForDeployment(ids), waitFor(unused)]
  await waiting(3)
  for (const { deploymentId } of [ids, unused]) await app.rest('DELETE', `/v2/deployments/${deploymentId}`)
  const [revision, deployment, gone] = await Promise.all(asked)
  expect(revision!.body.status).toBe('INTERRUPTED')
  expect(deployment!.body.status).toBe('AWAITING_DELETE')
  expect(gone!.status).toBe(404)
})

test.each([
  ['61', 'less_than_equal'],
  ['-1', 'greater_than_equal'],
  ['soon', 'int_parsing'],
  ['1.5', 'int_parsing'],
])('a wait of %s is a 422', async (seconds, type) => {
  const ids = await deployed()
  for (const path of [pathOf(ids), `/v2/deployments/${ids.deploymentId}`])
    expect(await app.rest('GET', `${path}?wait=${seconds}`)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'wait'], type }] },
    })
})

test('no other call accepts wait', async () => {
  const ids = await deployed()
  for (const path of ['/v2/deployments', `/v2/deployments/${ids.deploymentId}/revisions`, '/v2/listeners'])
    expect((await app.rest('GET', `${path}?wait=1`)).status).toBe(422)
})

test('an unknown resource, or another tenant’s, is a 404 immediately', async () => {
  const ids = await deployed()
  expect((await waitFor(ids, 60, app.other.keys.admin)).status).toBe(404)
  expect((await waitFor({ ...ids, revisionId: ids.deploymentId })).status).toBe(404)
})

test('many waits for the same resource read nothing while nothing happens, and once when it does', async () => {
  const ids = await deployed()
  const ctx = await app.context(app.keys.viewer)
  let reads = 0
  const wait = () =>
    waitUntil(ctx, {
      seconds: 60,
      scope: { ...ids, withoutEvent: false },
      key: 'test',
      read: async () => {
        reads++
        return ctx.db.revision.findUniqueOrThrow({ where: { id: ids.revisionId } })
      },
      done: ({ status }) => isTerminal(status),
    })
  const many = Array.from({ length: 50 }, wait)
  await waiting(50)
  // the first one's, and one for all that came while it ran
  expect(reads).toBe(2)
  // unrelated events wake no call, and neither do those that are no end
  await interrupt(await deployed())
  await app.rest('PATCH', `/v2/deployments/${ids.deploymentId}`, {
    body: { source_config: { resource_spec: { cpu: 1 } } },
  })
  expect(reads).toBe(2)
  await interrupt(ids)
  expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set(['INTERRUPTED']))
  expect(reads).toBe(4)
  await waiting(0)
})

test('a disconnected client leaves nothing behind', async () => {
  const ids = await deployed()
  const gone = new AbortController()
  const asked = fetch(`${app.url}${pathOf(ids)}?wait=60`, {
    headers: { 'x-api-key': app.keys.viewer },
    signal: gone.signal,
  }).catch(() => null)
  await waiting(1)
  gone.abort()
  await asked
  await waiting(0)
})

test('a revoked key is a 401 for every wait', async () => {
  const ids = await deployed()
  const key = await newKey(app.app.core, app.tenant)
  const { subject } = (await app.context(key)).actor
  const asked = waitFor(ids, 60, key)
  await waiting(1)
  // without a NOTIFY
  await app.app.core.db.apiKey.update({ where: { id: subject }, data: { revokedAt: new Date() } })
  expect(await asked).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
  await waiting(0)
})

test('too many waits are a 429', async () => {
  const small = await testApp({ beside: app, settings: { WAITS_PER_WORKSPACE: '1' } })
  try {
    const ids = await deployed()
    const asked = waitFor(ids, 60, app.keys.viewer, small)
    await waiting(1, small)
    expect(await waitFor(ids, 60, app.keys.viewer, small)).toMatchObject({
      status: 429,
      body: { code: 'RATE_LIMITED' },
    })
    await interrupt(ids)
    expect((await asked).status).toBe(200)
  } finally {
    await small.close()
  }
})

test('a stopping server answers immediately with the current state', async () => {
  const beside = await testApp({ beside: app })
  const ids = await deployed()
  const asked = waitFor(ids, 60, app.keys.viewer, beside)
  await waiting(1, beside)
  const closed = beside.close()
  expect(await asked).toMatchObject({ status: 200, body: { status: 'CREATING' } })
  await closed
})

test('a wait continues while the database is unavailable, and is answered when it is back', async () => {
  const proxy = await tcpProxy(app.databaseUrl)
  const away = await testApp({ beside: { ...app, databaseUrl: proxy.url } })
  try {
    const ids = await deployed()
    const asked = waitFor(ids, 60, app.keys.viewer, away)
    await waiting(1, away)
    proxy.away(true)
    // the server gets no notification there
    await interrupt(ids)
    proxy.away(false)
    expect(await asked).toMatchObject({ status: 200, body: { status: 'INTERRUPTED' } })
  } finally {
    await away.close()
    proxy.close()
  }
})

describe('A wait with If-None-Match', () => {
  const get = (path: string, etag: string | null, seconds?: number) =>
    app.rest('GET', seconds === undefined ? path : `${path}?wait=${seconds}`, {
      headers: etag === null ? {} : { 'if-none-match': etag },
    })
  const tagOf = async (path: string) => (await get(path, null)).headers.get('etag')!

  test('is 304 when the time is up without changes, and immediately if something changed', async () => {
    const ids = await deployed()
    const etag = await tagOf(pathOf(ids))
    expect((await get(pathOf(ids), etag, 1)).status).toBe(304)
    await interrupt(ids)
    expect(await get(pathOf(ids), etag, 60)).toMatchObject({ status: 200, body: { status: 'INTERRUPTED' } })
    // it had ended, which is no change
    expect((await get(pathOf(ids), await tagOf(pathOf(ids)), 1)).status).toBe(304)
  })

  test('ends at changes that are no end: of a status, of settings', async () => {
    const ids = await deployed()
    const path = `/v2/deployments/${ids.deploymentId}`
    const asked = [await get(path, null), await get(pathOf(ids), null)].map(({ headers }, i) =>
      get(i === 0 ? path : pathOf(ids), headers.get('etag'), 60),
    )
    await waiting(2)
    await app.rest('PATCH', path, { body: { source_config: { resource_spec: { cpu: 2 } } } })
    expect((await asked[0]!).body.source_config.resource_spec.cpu).toBe(2)
    await claimOne(localControlPlane(app.app.core), ids.deploymentId)
    await interrupt(ids)
    expect((await asked[1]!).status).toBe(200)
  })

  test('ends at reports of health and progress, only if they differ', async () => {
    const ids = await deployed()
    const plane = localControlPlane(app.app.core)
    const { claimId, token, generation } = await claimOne(plane, ids.deploymentId)
    const path = `/v2/deployments/${ids.deploymentId}`
    const beat = (more: object) =>
      plane.heartbeat({ leaseSeconds: 60, claims: [{ claimId, token, generation, ...more }] })
    const health = { ready: 0, desired: 1, message: 'starting', reason: null }
    const asked = get(path, await tagOf(path), 60)
    await waiting(1)
    await beat({ health })
    expect((await asked).body.health).toMatchObject({ ready: 0, desired: 1, message: 'starting' })
    const again = get(pathOf(ids), await tagOf(pathOf(ids)), 60)
    await waiting(1)
    let changes = 0
    const watching = app.app.core.changes!.watch(
      app.tenant.workspaceId,
      { ...ids, withoutEvent: true },
      { onChange: () => changes++, onStop() {} },
    )
    await beat({ health })
    await beat({ health, progress: { reason: 'PROVISIONING', message: 'Making its database.' } })
    expect((await again).body.status_message).toBe('Making its database.')
    watching.close()
    expect(changes).toBe(1)
  })
})
