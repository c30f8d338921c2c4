/** Who may call an agent: the member `access`, and signed links (docs/deployments.md#access). */
import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { findUnnamed, nameDeployment } from '../../src/domain/deployments/address-name.ts'
import { bodies, useRestApp } from '../rest/support.ts'
import { signIn } from '../sessions/support.ts'
import { newKey, type TestApp, testApp } from '../support/app.ts'
import { listener } from '../support/factories.ts'
import { type How, overBoth } from './api.ts'

const app = useRestApp()
// a workspace with a listener needs one for each image
const clusters = useRestApp()

const revisionsOf = (deploymentId: string) => app.core.db.revision.count({ where: { deploymentId } })
const lastEvent = (deploymentId: string) =>
  app.core.db.event.findFirstOrThrow({ where: { deploymentId }, orderBy: { sequence: 'desc' } })
const reached = (id: string, url = 'http://agent.localhost:8081') =>
  app.core.db.deployment.update({ where: { id }, data: { url } })

overBoth(app, (api) => {
  const create = (more: object = {}) => api.get('createDeployment', { ...bodies.external_container(), ...more })
  const update = (deployment_id: string, access: unknown, how?: How) =>
    api.call('updateDeployment', { deployment_id, access }, how)
  const get = (deployment_id: string) => api.get('getDeployment', { deployment_id })

  describe('access', () => {
    test('is workspace unless the request says otherwise', async () => {
      expect(await create()).toMatchObject({ access: 'workspace' })
      expect(await create({ access: null })).toMatchObject({ access: 'workspace' })
      for (const access of ['workspace', 'organization', 'public'])
        expect(await create({ access })).toMatchObject({ access })
    })

    test('is public for deployments of earlier servers, which don’t name it', async () => {
      const { id } = await create()
      await app.core.db.$executeRaw`UPDATE deployments SET access = DEFAULT WHERE id = ${id}::uuid`
      expect(await get(id)).toMatchObject({ access: 'public' })
    })

    test('of such a deployment is decided by a change that names it, also with the stored value', async () => {
      const { id } = await create({ access: 'public' })
      await app.core.db.$executeRaw`UPDATE deployments SET access_chosen = DEFAULT WHERE id = ${id}::uuid`
      const undecided = async () =>
        (await app.core.db.deployment.findUniqueOrThrow({ where: { id } })).accessChosen === false
      expect(await undecided()).toBe(true)
      expect((await update(id, null)).version).toBe(1)
      const decided = await update(id, 'public')
      expect(decided).toMatchObject({ version: 2, value: { last_change: { changed: ['access'] } } })
      expect(await lastEvent(id)).toMatchObject({ changed: ['access'], message: 'Access stays public.' })
      expect(await undecided()).toBe(false)
      expect((await update(id, 'public')).version).toBe(2)
    })

    test('changes without a revision, as an edit with an event', async () => {
      const { id } = await create()
      const before = await revisionsOf(id)
      const changed = await update(id, 'public', { key: app.keys.deployer })
      expect(changed).toMatchObject({ ok: true, version: 2, revision: null })
      expect(changed.value).toMatchObject({ access: 'public', last_change: { what: 'UPDATED', changed: ['access'] } })
      expect(await get(id)).toEqual(changed.value)
      expect(await lastEvent(id)).toMatchObject({
        ...{ type: 'deployment.updated', changed: ['access'] },
        message: 'Access changed from workspace to public.',
      })
      expect(await revisionsOf(id)).toBe(before)
    })

    test('stays when it is absent, null or the stored value, and nothing is written', async () => {
      const { id } = await create({ access: 'organization' })
      for (const access of [undefined, null, 'organization']) expect((await update(id, access)).version).toBe(1)
      expect((await lastEvent(id)).type).not.toBe('deployment.updated')
    })

    test('changes from the version that the caller has read, or not at all', async () => {
      const { id } = await create()
      expect((await update(id, 'public', { version: 7 })).code).toBe('PRECONDITION_FAILED')
      expect((await update(id, 'public', { version: 1 })).ok).toBe(true)
    })

    test.each([
      ['another word', 'everyone'],
      ['another letter case', 'PUBLIC'],
      ['an empty text', ''],
    ])('%s is refused', async (_what, access) => {
      const { id: deployment_id } = await create()
      await api.refuses('updateDeployment', { deployment_id, access }, ['access enum'])
      await api.refuses('createDeployment', { ...bodies.external_container(), access }, ['access enum'])
    })

    test('is changed by deployers of the tenant', async () => {
      const { id } = await create()
      for (const [key, code] of [
        [app.keys.viewer, 'FORBIDDEN'],
        [null, 'UNAUTHENTICATED'],
        [app.sibling.keys.admin, 'NOT_FOUND'],
        [app.other.keys.admin, 'NOT_FOUND'],
      ] as const)
        expect((await update(id, 'public', { key })).code).toBe(code)
      expect(await get(id)).toMatchObject({ access: 'workspace' })
    })

    test('has the value of the later of two calls at the same moment, and each has an event', async () => {
      const { id } = await create()
      const both = await Promise.all([update(id, 'public'), update(id, 'organization')])
      expect(both.map(({ value }) => value.access)).toEqual(['public', 'organization'])
      expect(both.map(({ version }) => version).sort()).toEqual([2, 3])
      const events = await app.core.db.event.findMany({
        where: { deploymentId: id, type: 'deployment.updated' },
        orderBy: { sequence: 'asc' },
      })
      const last = both.find(({ version }) => version === 3)!.value.access
      expect(events.map(({ message }) => message!.match(/\w+/g)!.slice(-3))).toEqual([
        ['workspace', 'to', last === 'public' ? 'organization' : 'public'],
        [last === 'public' ? 'organization' : 'public', 'to', last],
      ])
      expect(await get(id)).toMatchObject({ access: last })
    })
  })

  describe('a link', () => {
    const link = (deployment_id: string, more: object = {}, how?: How) =>
      api.call('createDeploymentLink', { deployment_id, ...more }, how)

    /** The claims, checked with the public key of the database. */
    async function claimsOf(url: string) {
      const token = new URL(url).searchParams.get('pilothouse_link')!
      const { payload } = await jwtVerify(token, async ({ kid }) => {
        const { publicJwk } = await app.core.db.signingKey.findUniqueOrThrow({ where: { id: kid!, purpose: 'link' } })
        return createPublicKey({ key: publicJwk as JsonWebKey, format: 'jwk' })
      })
      return payload
    }

    test('opens the agent’s address with a token that names the caller and ends in an hour', async () => {
      const { id } = await create()
      await reached(id)
      const { value } = await link(id, {}, { key: app.keys.viewer })
      expect(value.url).toMatch(/^http:\/\/agent\.localhost:8081\/\?pilothouse_link=[\w-]+\.[\w-]+\.[\w-]+$/)
      const { api_key } = await api.get('getMe', {}, { key: app.keys.viewer })
      const { exp, iat, ...claims } = await claimsOf(value.url)
      expect(claims).toEqual({
        ...{ aud: 'link', sub: id, act: { kind: 'key', id: api_key.id }, sub_name: api_key.owner ?? api_key.name },
        ...{ ws: app.tenant.workspaceId, org: app.tenant.organizationId, role: 'viewer' },
      })
      expect(exp! - Number(iat)).toBe(3600)
      expect(new Date(exp! * 1000).toISOString()).toBe(value.expires_at)
      expect(exp! - Date.now() / 1000).toBeGreaterThan(3590)
      expect(exp! - Date.now() / 1000).toBeLessThanOrEqual(3600)
    })

    test('ends when the request says, and opens the path that it names', async () => {
      const { id } = await create()
      await reached(id, 'https://agent.example.com/base/')
      const { value } = await link(id, { expires_in: 60, path: '/docs?a=1&b=%20#top' })
      expect(value.url).toMatch(/^https:\/\/agent\.example\.com\/base\/docs\?a=1&b=%20&pilothouse_link=[^#&]+#top$/)
      expect((await claimsOf(value.url)).exp! - Date.now() / 1000).toBeLessThanOrEqual(60)
    })

    test('of a public deployment is its address and path', async () => {
      const { id } = await create({ access: 'public' })
      await reached(id)
      expect((await link(id, { path: '/docs' })).value).toEqual({
        ...{ url: 'http://agent.localhost:8081/docs', expires_at: null },
      })
    })

    test.each([
      [{ expires_in: 59 }, 'expires_in greater_than_equal'],
      [{ expires_in: 86_401 }, 'expires_in less_than_equal'],
      [{ expires_in: 'soon' }, 'expires_in int_type'],
      [{ path: 'docs' }, 'path string_pattern_mismatch'],
      [{ path: '' }, 'path string_pattern_mismatch'],
      [{ deployment_id: 'no-uuid' }, 'deployment_id uuid_parsing'],
    ])('with %j is refused', async (input, issue) => {
      const { id: deployment_id } = await create()
      await api.refuses('createDeploymentLink', { deployment_id, ...input }, [issue])
    })

    test('needs an address, and a deployment that stays', async () => {
      const { id } = await create()
      expect(await link(id)).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('has no URL yet') })
      await app.core.db.deployment.update({ where: { id }, data: { url: 'http://a.localhost', deletedAt: new Date() } })
      expect(await link(id)).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('being deleted') })
    })

    test('is for readers of the tenant, and not for keys of callers', async () => {
      const { id } = await create()
      await reached(id)
      for (const [key, code] of [
        [await newKey(app.core, { ...app.tenant, role: 'caller' }), 'FORBIDDEN'],
        [null, 'UNAUTHENTICATED'],
        [app.sibling.keys.admin, 'NOT_FOUND'],
        [app.other.keys.admin, 'NOT_FOUND'],
      ] as const)
        expect((await link(id, {}, { key })).code).toBe(code)
    })
  })
})

test('a link of a session names the session', async () => {
  const { id } = await app.create()
  await reached(id)
  const { headers, ...session } = await signIn(app, { api_key: app.keys.viewer })
  const { body } = await app.call('POST', `/v2/deployments/${id}/links`, { key: null, headers, body: {} })
  const [, claims] = new URL(body.url).searchParams.get('pilothouse_link')!.split('.')
  expect(JSON.parse(Buffer.from(claims!, 'base64url').toString()).act).toEqual({ kind: 'session', id: session.id })
})

test('the private key of links is encrypted in the database', async () => {
  const keys = await app.core.db.signingKey.findMany({ where: { purpose: 'link' } })
  for (const { privateKey, publicJwk } of keys) {
    expect(privateKey).toMatch(/^test\./)
    expect(publicJwk).not.toHaveProperty('d')
  }
})

const createOn = (on: TestApp, listener_id: string, config: object = {}) =>
  on.rest('POST', '/v2/deployments', {
    body: { ...bodies.external_container(), source_config: { listener_id, ...config } },
  })

overBoth(clusters, (api) => {
  test('a cluster’s deployments are public without a door', async () => {
    const { id: listener_id } = await listener(clusters)
    const body = { ...bodies.external_container(), source_config: { listener_id } }
    for (const access of ['workspace', 'organization']) {
      const refused = await api.refuses('createDeployment', { ...body, access }, ['access value_error'])
      expect(refused.message).toBe('No door stands before this deployment on Kubernetes, so access must be public.')
    }
    const { id: deployment_id, access } = await api.get('createDeployment', body)
    expect(access).toBe('public')
    await api.refuses('updateDeployment', { deployment_id, access: 'workspace' }, ['access value_error'])
    await api.get('updateDeployment', { deployment_id, access: 'public' })
    const data = { customUrl: 'https://agent.example.com' }
    await clusters.core.db.deployment.update({ where: { id: deployment_id }, data })
    const link = await api.get('createDeploymentLink', { deployment_id, path: '/docs' })
    expect(link).toEqual({ url: 'https://agent.example.com/docs', expires_at: null })
  })
})

test('deployments of a cluster with a door have an access, unless a custom_url leads past the door', async () => {
  const { id: listener_id } = await listener(clusters)
  const { id: elsewhere } = await listener(clusters)
  const { id: before } = (await createOn(clusters, listener_id)).body
  const settings = {
    DOOR_TOKEN: 'token-of-all-doors-of-this-cluster',
    DOOR_LISTENERS: listener_id,
    APPS_URL: 'https://{name}.apps.example.com',
  }
  const doored = await testApp({ beside: clusters, settings })
  doored.app.core.publicUrl = () => 'https://pilothouse.example.com'
  try {
    const { body } = await createOn(doored, listener_id)
    expect(body.access).toBe('workspace')
    const { addressName } = await doored.app.core.db.deployment.findUniqueOrThrow({ where: { id: body.id } })
    expect(addressName).toMatch(/^[a-z0-9-]+$/)
    const patch = (id: string, change: object) => doored.rest('PATCH', `/v2/deployments/${id}`, { body: change })
    expect((await patch(body.id, { access: 'public' })).body.access).toBe('public')
    const custom_url = 'https://bot.example.com'
    const past = await patch(body.id, { source_config: { custom_url } })
    expect([past.status, past.body.detail[0].loc]).toEqual([422, ['body', 'source_config', 'custom_url']])

    const made = await createOn(doored, listener_id, { custom_url })
    expect(made.body.access).toBe('public')
    // their requests come with credentials
    for (const host of ['other.apps.example.com', 'pilothouse.example.com']) {
      const reserved = { custom_url: `https://${host}/x` }
      const answers = [
        await createOn(doored, listener_id, reserved),
        await patch(made.body.id, { source_config: reserved }),
      ]
      for (const { status, body } of answers)
        expect([status, body.detail[0].loc]).toEqual([422, ['body', 'source_config', 'custom_url']])
    }
    doored.app.core.settings.clusterDoor = { listeners: [listener_id], customUrls: true }
    const through = await createOn(doored, listener_id, { custom_url: 'https://closed.example.com' })
    expect(through.body.access).toBe('workspace')
    expect((await patch(body.id, { source_config: { custom_url: 'https://later.example.com' } })).status).toBe(200)
    expect((await createOn(doored, elsewhere)).body.access).toBe('public')
    // it has an Ingress
    expect((await patch(before, { access: 'workspace' })).status).toBe(422)

    const { core } = doored.app
    const unnamed = async () => (await findUnnamed(core, null)).map(({ id }) => id)
    expect((await unnamed()).sort()).toEqual([before, made.body.id].sort())
    expect((await findUnnamed(core, before)).map(({ id }) => id)).toEqual([before])
    // its custom_url leads past the door
    core.settings.clusterDoor = { listeners: [listener_id], customUrls: false }
    expect(await unnamed()).toEqual([before])
    await nameDeployment(core, before)
    expect((await patch(before, { access: 'workspace' })).body.access).toBe('workspace')
    expect(await unnamed()).toEqual([])
  } finally {
    await doored.close()
  }
})

test('the keys of the tokens that agents get are public, and clients may cache them', async () => {
  const publicJwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
  await app.core.db.signingKey.create({ data: { id: 'door-1', purpose: 'caller', publicJwk } })
  const { status, headers, body } = await app.rest('GET', '/.well-known/jwks.json', { key: null })
  expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=300'])
  expect(body).toEqual({ keys: [{ ...publicJwk, use: 'sig', alg: 'EdDSA', kid: 'door-1' }] })
})
