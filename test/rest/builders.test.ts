/** Builders over REST: messages, keys, and the download of sources. */
import { addAbortSignal, Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { newKey } from '../support/app.ts'
import { builderKey } from '../support/factories.ts'
import { claimOne, succeed } from '../support/holder.ts'
import { standInRegistry } from '../support/registry.ts'
import { bodies, useRestApp, violations } from './support.ts'

const TARBALL = gzipSync('as good as a tarball')
const DIGEST = `sha256:${'0f'.repeat(32)}`

const app = useRestApp()
let key: string
beforeAll(async () => {
  app.core.registry = standInRegistry()
  key = await builderKey(app)
})

const take = (body: object = {}, as = key) => app.call('POST', '/v2/builders/claims', { key: as, body })
const about = (claim: { claim_id: string }, what: string, body: object) =>
  app.call('POST', `/v2/builders/claims/${claim.claim_id}/${what}`, { key, body })

/** A deployment of an uploaded tarball whose holder leaves its build to builders; its claim there. */
async function claimed() {
  expect((await app.call('POST', '/v2/builders/heartbeat', { key, body: { claims: [] } })).status).toBe(200)
  const body = { ...bodies.internal_source(), secrets: [{ name: 'NPM_TOKEN', value: 's3cret' }] }
  const { id } = await app.create(body)
  const upload = (await app.call('POST', `/v2/deployments/${id}/upload-url`)).body
  await fetch(upload.upload_url, { method: 'PUT', body: TARBALL })
  const source_revision_config = { source_tarball_path: upload.object_path }
  expect((await app.call('PATCH', `/v2/deployments/${id}`, { body: { source_revision_config } })).status).toBe(200)
  const plane = localControlPlane(app.core)
  const holder = await claimOne(plane, id)
  const { step } = (await succeed(plane, holder, holder.step!)).assignment
  const { claimId, token } = holder
  const left = { outcome: 'failed', reason: 'NO_BUILDER', message: 'BUILDER is none.', elsewhere: true } as const
  await plane.complete({ claimId, token, stepId: step!.id, ...left })
  await plane.release(holder)
  return { id, upload, claim: await takeOne(id) }
}

/** The claim of this deployment; other offered builds are taken too. */
async function takeOne(id: string, as = key) {
  const { claims } = (await take({ holder: 'build-1', max: 100, lease_seconds: 600 }, as)).body
  return claims.find(({ deployment }: { deployment: { id: string } }) => deployment.id === id)
}

/** `fetch` of the tarball, as a builder does it. */
const fetchTarball = (claim: { claim_id: string }, token: string, as = key) =>
  fetch(`${app.url}/v2/builders/claims/${claim.claim_id}/tarball?token=${token}`, { headers: { 'x-api-key': as } })

describe('a builder', () => {
  test('gets a build with only what it needs, the uploaded source, and reports its image', async () => {
    const { id, claim } = await claimed()
    expect(Object.keys(claim).sort()).toEqual(
      ['claim_id', 'deployment', 'lease_seconds', 'revision', 'seconds_left', 'step_id', 'token', 'tries'].sort(),
    )
    expect(claim.revision).toMatchObject({
      source: 'internal_source',
      secrets: [{ name: 'NPM_TOKEN', value: 's3cret' }],
    })
    const shown = (await app.call('GET', `/v2/deployments/${id}/revisions`)).body.resources[0]
    expect(shown).toMatchObject({ status: 'BUILDING', status_message: 'Building on build-1.' })

    const { token } = claim
    const access = (await about(claim, 'access', { token })).body
    const name = `registry.test/${app.tenant.workspaceId}/${id}`
    expect(access).toMatchObject({ repository: { name, username: 'token' }, git: null, tarball: true, failure: null })
    const bytes = await fetchTarball(claim, token)
    expect([bytes.status, bytes.headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
    expect(Buffer.from(await bytes.arrayBuffer())).toEqual(TARBALL)

    const entries = [{ message: 'STEP 1', time: new Date().toISOString(), level: 'warning' }]
    expect((await about(claim, 'logs', { token, entries })).status).toBe(204)
    const beat = { claims: [{ claim_id: claim.claim_id, token }] }
    expect((await app.call('POST', '/v2/builders/heartbeat', { key, body: beat })).body).toEqual({
      claims: [{ claim_id: claim.claim_id, lost: false }],
    })
    const done = { token, outcome: 'succeeded', artifact: `image:${name}@${DIGEST}` }
    expect((await about(claim, 'complete', done)).body).toEqual({ recorded: true })
    expect((await about(claim, 'release', { token })).status).toBe(409)
    expect((await fetchTarball(claim, token)).status).toBe(409)
  })

  test('that reads slowly uses only the limited downloads of its organization', async () => {
    const { claim } = await claimed()
    const { sources } = app.core
    const open = new Set<Readable>()
    const endless = async (_id: string, signal: AbortSignal) => {
      const bytes = addAbortSignal(signal, new Readable({ read() {} }))
      bytes.once('close', () => open.delete(bytes)).once('error', () => undefined)
      bytes.push('begun')
      open.add(bytes)
      return { bytes }
    }
    app.core.sources = { ...sources!, tarball: endless }
    const ends = new AbortController()
    const unread = () =>
      fetch(`${app.url}/v2/builders/claims/${claim.claim_id}/tarball?token=${claim.token}`, {
        headers: { 'x-api-key': key },
        signal: ends.signal,
      })
    expect((await Promise.all(Array.from({ length: 16 }, unread))).map(({ status }) => status)).toEqual(
      Array(16).fill(200),
    )
    const refused = await unread()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    expect(await refused.json()).toMatchObject({ code: 'RATE_LIMITED', detail: expect.stringMatching(/organization/) })
    // the ownership of the claim is the only thing that keeps another organization away
    expect((await fetchTarball(claim, claim.token, await builderKey(app, app.other))).status).toBe(409)
    // calls that renew leases are not blocked
    const beat = { claims: [{ claim_id: claim.claim_id, token: claim.token }] }
    expect((await app.call('POST', '/v2/builders/heartbeat', { key, body: beat })).status).toBe(200)
    ends.abort()
    await expect.poll(() => open.size).toBe(0)
    app.core.sources = sources
    expect((await fetchTarball(claim, claim.token)).status).toBe(200)
    expect((await about(claim, 'release', { token: claim.token })).status).toBe(204)
  })

  test('gets no tarball with another token, another key or none, and 404 if it is gone', async () => {
    const { claim, upload } = await claimed()
    const { token } = claim
    expect((await fetchTarball(claim, '99')).status).toBe(409)
    expect((await fetchTarball(claim, 'x')).status).toBe(422)
    expect((await fetchTarball(claim, token, app.keys.admin)).status).toBe(403)
    expect((await fetchTarball(claim, token, '')).status).toBe(401)
    for (const stranger of [app.sibling, app.other])
      expect((await fetchTarball(claim, token, await builderKey(app, stranger))).status).toBe(409)
    await app.core.db.upload.update({ where: { objectPath: upload.object_path }, data: { removedAt: new Date() } })
    const gone = await fetchTarball(claim, token)
    expect(gone.status).toBe(404)
    expect(await gone.json()).toMatchObject({
      detail: expect.stringMatching(/^The source tarball was removed: upload it/),
    })
    expect((await about(claim, 'release', { token })).status).toBe(204)
  })

  test('reaches no build of another workspace, whatever it knows of its claim', async () => {
    const { id, claim } = await claimed()
    const { token } = claim
    const state = () => app.core.db.step.findMany({ where: { deploymentId: id } })
    const before = await state()
    for (const stranger of [app.sibling, app.other]) {
      const theirs = await builderKey(app, stranger)
      expect((await take({ max: 100 }, theirs)).body).toEqual({ claims: [] })
      for (const [what, body] of [
        ['access', { token }],
        ['logs', { token, entries: [{ message: 'stolen', time: new Date().toISOString() }] }],
        ['complete', { token, outcome: 'failed', message: 'stolen' }],
        ['release', { token }],
      ] as const) {
        const answer = await app.call('POST', `/v2/builders/claims/${claim.claim_id}/${what}`, { key: theirs, body })
        expect([answer.status, answer.body.code]).toEqual([409, 'CLAIM_LOST'])
      }
      const beat = { claims: [{ claim_id: claim.claim_id, token }] }
      expect((await app.call('POST', '/v2/builders/heartbeat', { key: theirs, body: beat })).body.claims).toEqual([
        { claim_id: claim.claim_id, lost: true },
      ])
    }
    expect(await state()).toEqual(before)
    expect((await about(claim, 'release', { token })).status).toBe(204)
  })

  test('of the organization need not name a workspace, and builds for all of them', async () => {
    const { id, claim } = await claimed()
    expect((await about(claim, 'release', { token: claim.token })).status).toBe(204)
    const wide = await newKey(app.core, { ...app.tenant, organizationWide: true, role: 'builder' })
    const again = await takeOne(id, wide)
    expect(again).toMatchObject({ deployment: claim.deployment, token: '2' })
    const release = `/v2/builders/claims/${again.claim_id}/release`
    expect((await app.call('POST', release, { key: wide, body: { token: '2' } })).status).toBe(204)
    // a builder of another organization gets none of them
    const other = await newKey(app.core, { ...app.other, organizationWide: true, role: 'builder' })
    expect((await take({}, other)).body).toEqual({ claims: [] })
  })

  test('of the organization that names a workspace is refused, because it can’t be limited to one', async () => {
    const wide = await newKey(app.core, { ...app.tenant, organizationWide: true, role: 'builder' })
    const headers = { 'x-tenant-id': app.tenant.workspaceId }
    const refused = await app.call('POST', '/v2/builders/claims', { key: wide, body: {}, headers })
    expect(refused.status).toBe(422)
    expect(JSON.stringify(refused.body)).toContain('use a key of that workspace')
    // a builder of the workspace may name it
    const own = await newKey(app.core, { ...app.tenant, role: 'builder' })
    expect((await app.call('POST', '/v2/builders/claims', { key: own, body: {}, headers })).status).toBe(200)
  })

  test('needs a builder’s key', async () => {
    for (const role of ['viewer', 'deployer', 'admin'] as const) {
      for (const path of [
        'claims',
        'heartbeat',
        ...['access', 'logs', 'complete', 'release'].map((w) => `claims/x/${w}`),
      ]) {
        const answer = await app.call('POST', `/v2/builders/${path}`, { key: app.keys[role], body: {} })
        expect([answer.status, answer.body.code], path).toEqual([403, 'FORBIDDEN'])
      }
    }
  })

  test('gets every violation of its call', async () => {
    expect(violations(await take({ holder: '', max: 101, lease_seconds: 0, wait_seconds: 61 }))).toEqual([
      'body.holder string_too_short',
      'body.lease_seconds greater_than_equal',
      'body.max less_than_equal',
      'body.wait_seconds less_than_equal',
    ])
    const answer = await app.call('POST', '/v2/builders/claims/x/complete', { key, body: { outcome: 'done' } })
    expect(violations(answer)).toEqual(['body.outcome enum', 'body.token missing', 'path.claim_id uuid_parsing'])
  })
})
