/** Installation of the app: an admin starts it, and one callback with the state finishes it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type InstallApp, installApp } from './support.ts'

let app: InstallApp
const list = async (key?: string) => (await app.call('GET', '/v1/integrations/gitprovider/install', { key })).body
const live = (installationId: number) =>
  app.core.db.integration.findMany({ where: { installationId: BigInt(installationId), removedAt: null } })

describe('without an OAuth client', () => {
  beforeAll(async () => {
    app = await installApp({ oauth: false })
  })
  afterAll(() => app.close())
  beforeEach(() => app.provider.outage(null))

  test('an admin starts, a person installs and returns, and the list contains the integration', async () => {
    const state = await app.begin()
    const installed = app.provider.install('acme')
    const page = await app.openCallback({ state, installation_id: String(installed.id), setup_action: 'install' })
    expect(page.status).toBe(200)
    expect(page.text).toContain('The repositories of acme can be deployed now.')
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await list(app.keys.viewer)).toContainEqual({
      id: expect.any(String),
      installation_id: String(installed.id),
      name: 'acme',
    })
    const { id } = (await live(installed.id))[0]!
    expect(await app.core.db.event.findMany({ where: { subjectId: id } })).toMatchObject([
      { type: 'integration.created', workspaceId: app.tenant.workspaceId, actor: expect.any(String) },
    ])
  })

  test('the state is stored as a hash for 15 minutes', async () => {
    const { body } = await app.call('POST', '/v1/integrations/gitprovider/install')
    const left = Date.parse(body.expires_at) - Date.now()
    expect(left).toBeGreaterThan(14 * 60_000)
    expect(left).toBeLessThanOrEqual(15 * 60_000 + 1000)
    const state = new URL(body.install_url).searchParams.get('state')!
    expect(state.length).toBeGreaterThanOrEqual(40)
    expect(JSON.stringify(await app.core.db.installState.findMany())).not.toContain(state)
  })

  test('only an admin can start an installation', async () => {
    for (const key of [app.keys.viewer, app.keys.deployer])
      expect((await app.call('POST', '/v1/integrations/gitprovider/install', { key })).status).toBe(403)
    const refused = await app.gql('mutation { startGitIntegration { __typename } }', {}, { key: app.keys.deployer })
    expect(refused.data.startGitIntegration.__typename).toBe('ForbiddenError')
  })

  test('GraphQL can start an installation', async () => {
    const { data } = await app.gql(
      'mutation { startGitIntegration { ... on StartGitIntegrationSuccess { installUrl expiresAt } } }',
    )
    const state = new URL(data.startGitIntegration.installUrl).searchParams.get('state')!
    const installed = app.provider.install('by-graphql')
    expect((await app.openCallback({ state, installation_id: String(installed.id) })).status).toBe(200)
  })

  test('a forged, an expired and a used state connect nothing', async () => {
    const installed = app.provider.install('states')
    const installation_id = String(installed.id)
    const refuse = async (state: string) => {
      const page = await app.openCallback({ state, installation_id })
      expect(page.status).toBe(403)
      expect(page.text).toContain('was used already, or has expired')
    }
    await refuse('made-up')
    const expired = await app.begin()
    await app.core.db.installState.updateMany({ data: { expiresAt: new Date(Date.now() - 1000) } })
    await refuse(expired)
    const used = await app.begin()
    expect((await app.openCallback({ state: used, installation_id })).status).toBe(200)
    await refuse(used)
    expect(await live(installed.id)).toHaveLength(1)
  })

  test('the state decides which workspace gets the integration', async () => {
    const installed = app.provider.install('sister')
    await app.connect(installed, app.sibling.keys.admin)
    expect(await live(installed.id)).toMatchObject([{ workspaceId: app.sibling.workspaceId }])
    expect(JSON.stringify(await list())).not.toContain(String(installed.id))
  })

  test('an installation of another organization is refused, also for concurrent callbacks', async () => {
    const installed = app.provider.install('contested')
    const states = [await app.begin(), await app.begin(app.other.keys.admin)]
    const pages = await Promise.all(
      states.map((state) => app.openCallback({ state, installation_id: String(installed.id) })),
    )
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 409])
    expect(pages.find(({ status }) => status === 409)!.text).toContain('belongs to another organization')
    expect(await live(installed.id)).toHaveLength(1)
  })

  test('two workspaces of one organization may share an installation', async () => {
    const installed = app.provider.install('shared')
    await app.connect(installed)
    await app.connect(installed, app.sibling.keys.admin)
    expect(await live(installed.id)).toHaveLength(2)
  })

  test('concurrent callbacks of one or two states store one integration', async () => {
    const installed = app.provider.install('twice')
    const [one, other] = [await app.begin(), await app.begin()]
    const installation_id = String(installed.id)
    const pages = await Promise.all([one, one, other].map((state) => app.openCallback({ state, installation_id })))
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 200, 403])
    const rows = await live(installed.id)
    expect(rows).toHaveLength(1)
    expect(await app.core.db.event.count({ where: { subjectId: rows[0]!.id } })).toBe(1)
  })

  test('an older installation is refused, because its id proves nothing', async () => {
    const installed = app.provider.install('victim')
    installed.createdAt = new Date(Date.now() - 3_600_000)
    const page = await app.openCallback({ state: await app.begin(), installation_id: String(installed.id) })
    expect(page.status).toBe(403)
    expect(page.text).toContain('GITPROVIDER_CLIENT_ID')
    expect(await live(installed.id)).toEqual([])
  })

  test('an unknown installation answers 404, an incomplete callback 422', async () => {
    expect((await app.openCallback({ state: await app.begin(), installation_id: '999999999' })).status).toBe(404)
    for (const query of [{}, { state: 'x' }, { state: 'x', installation_id: '1 OR 1=1' }]) {
      const page = await app.openCallback(query as Record<string, string>)
      expect([page.status, page.headers.get('content-type')]).toEqual([422, 'text/html; charset=utf-8'])
    }
  })

  test('a person who must ask an owner or who declines sees that, and the state stays valid', async () => {
    const state = await app.begin()
    const asked = await app.openCallback({ state, setup_action: 'request' })
    expect([asked.status, asked.text.includes('An owner has to approve it')]).toEqual([202, true])
    const declined = await app.openCallback({
      state,
      error: 'access_denied',
      error_description: '<script>alert(1)</script>',
    })
    expect([declined.status, declined.text.includes('declined')]).toEqual([403, true])
    expect(declined.text).not.toContain('<script>')
    const installed = app.provider.install('after-all')
    expect((await app.openCallback({ state, installation_id: String(installed.id) })).status).toBe(200)
  })

  test('the page escapes the name of an account', async () => {
    const installed = app.provider.install('<b>&')
    const page = await app.openCallback({ state: await app.begin(), installation_id: String(installed.id) })
    expect(page.text).toContain('&lt;b&gt;&amp;')
    expect(page.text).not.toContain('<b>')
  })

  test('a HEAD of the callback does not consume the state', async () => {
    const state = await app.begin()
    const installed = app.provider.install('headed')
    const query = new URLSearchParams({ state, installation_id: String(installed.id) })
    expect((await app.rest('HEAD', `/v1/integrations/gitprovider/setup?${query}`, { key: null })).status).toBe(405)
    expect((await app.openCallback({ state, installation_id: String(installed.id) })).status).toBe(200)
  })

  test('an unavailable provider answers 502, at the start and at the callback', async () => {
    const state = await app.begin()
    const installed = app.provider.install('away')
    app.provider.outage('500')
    expect(await app.call('POST', '/v1/integrations/gitprovider/install')).toMatchObject({
      status: 502,
      body: { code: 'GITPROVIDER_UNAVAILABLE' },
    })
    const page = await app.openCallback({ state, installation_id: String(installed.id) })
    expect([page.status, page.text.includes('Start the installation again then.')]).toEqual([502, true])
    expect(await live(installed.id)).toEqual([])
  })
})

describe('with an OAuth client', () => {
  beforeAll(async () => {
    app = await installApp({ oauth: true })
  })
  afterAll(() => app.close())

  test('a person with a valid code connects an installation of any age', async () => {
    const installed = app.provider.install('acme', { users: ['ann'] })
    installed.createdAt = new Date(Date.now() - 3_600_000)
    await app.connect(installed)
    expect(await live(installed.id)).toHaveLength(1)
  })

  test('a missing, a forged and another person’s code connect nothing', async () => {
    const installed = app.provider.install('acme', { users: ['ann'] })
    app.provider.install('evil', { users: ['eve'] })
    for (const code of [undefined, 'made-up', app.provider.code('eve')]) {
      const state = await app.begin()
      const page = await app.openCallback({ state, installation_id: String(installed.id), ...(code ? { code } : {}) })
      expect([page.status, page.text.includes('did not confirm')]).toEqual([403, true])
    }
    expect(await live(installed.id)).toEqual([])
  })
})
