/** The repositories of an installation: pages, search and errors. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bodies, violations } from '../rest/support.ts'
import type { FakeInstallation } from '../support/gitprovider/open.ts'
import { type InstallApp, installApp } from './support.ts'

let app: InstallApp
let installed: FakeInstallation
let id: string
const number = (i: number) => String(i).padStart(3, '0')
const repos = (integration = id, base = '/v1/integrations/gitprovider') =>
  app.call('GET', `${base}/${integration}/repos`, { key: app.keys.viewer })

beforeAll(async () => {
  app = await installApp({ oauth: false })
  const made = Array.from({ length: 249 }, (_, i) => app.provider.repository(`acme/repo-${number(i)}`, { disk: false }))
  const named = app.provider.repository('Zeta/Agent', { disk: false, defaultBranch: 'trunk' })
  const archived = app.provider.repository('acme/archived', { disk: false, archived: true })
  installed = app.provider.install('acme', { repositories: await Promise.all([named, archived, ...made]) })
  id = await app.connect(installed)
})
afterAll(() => app.close())
beforeEach(() => app.provider.outage(null))

const PAGE = `query ($id: ID!, $first: Int, $after: String, $last: Int, $before: String, $search: String) {
  node(id: $id) { ... on GitIntegration { kind account installationId suspended
    repositories(first: $first, after: $after, last: $last, before: $before, search: $search) {
      totalCount nodes { owner name defaultBranch integrationId url } edges { cursor } pageInfo { hasNextPage hasPreviousPage endCursor } } } } }`
const page = async (variables: object) => (await app.gql(PAGE, { id, ...variables })).data.node.repositories
const names = (nodes: { owner: string; name: string }[]) => nodes.map(({ owner, name }) => `${owner}/${name}`)

test('REST lists all 250 repositories that are not archived, at both paths', async () => {
  const { status, body } = await repos()
  expect(status).toBe(200)
  expect(body).toHaveLength(250)
  expect(names(body)).not.toContain('acme/archived')
  expect(body.find((one: { name: string }) => one.name === 'Agent')).toEqual({
    host_integration_id: id,
    id: expect.any(Number),
    name: 'Agent',
    owner: 'Zeta',
    url: expect.stringMatching(/\/Zeta\/Agent(\.git)?$/),
    default_branch: 'trunk',
  })
  expect((await repos(id, '/v1/integrations/forge/gitprovider')).body).toEqual(body)
})

test('GraphQL pages through all repositories by owner and name', async () => {
  const seen: string[] = []
  for (let after: string | null = null; ; ) {
    const found: Awaited<ReturnType<typeof page>> = await page({ first: 100, after })
    expect(found.totalCount).toBe(250)
    seen.push(...names(found.nodes))
    if (!found.pageInfo.hasNextPage) break
    after = found.pageInfo.endCursor
  }
  expect(seen).toEqual([...Array.from({ length: 249 }, (_, i) => `acme/repo-${number(i)}`), 'Zeta/Agent'])
  expect((await page({})).nodes).toHaveLength(20)
  const end = await page({ last: 2 })
  expect(names(end.nodes)).toEqual(['acme/repo-248', 'Zeta/Agent'])
  expect(names((await page({ last: 1, before: end.edges[0].cursor })).nodes)).toEqual(['acme/repo-247'])
})

test('a search matches a part of owner/name in any case and is counted', async () => {
  const found = await page({ search: 'ETA/ag' })
  expect([names(found.nodes), found.totalCount]).toEqual([['Zeta/Agent'], 1])
  expect(await page({ search: 'REPO-24', first: 3 })).toMatchObject({ totalCount: 9, pageInfo: { hasNextPage: true } })
  expect(await page({ search: '%' })).toMatchObject({ totalCount: 0, nodes: [] })
})

test('a cursor of another list and a page of 101 are rejected', async () => {
  for (const wrong of [{ after: 'nonsense' }, { first: 101 }]) {
    const { errors } = await app.gql(PAGE, { id, ...wrong })
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['VALIDATION_FAILED'])
  }
})

test('the integration shows the account of its installation', async () => {
  expect((await app.gql(PAGE, { id, first: 1 })).data.node).toMatchObject({
    kind: 'app',
    account: 'acme',
    installationId: String(installed.id),
    suspended: false,
  })
})

test('another tenant sees neither the integration nor its repositories', async () => {
  for (const { keys } of [app.sibling, app.other]) {
    const key = keys.admin
    expect((await app.call('GET', `/v1/integrations/gitprovider/${id}/repos`, { key })).status).toBe(404)
    expect((await app.gql(PAGE, { id }, { key })).data.node).toBeNull()
  }
})

test('an outage of the provider answers 502, and GraphQL still shows the other integrations', async () => {
  app.provider.outage('500')
  expect(await repos()).toMatchObject({ status: 502, body: { code: 'GITPROVIDER_UNAVAILABLE' } })
  const { data, errors } = await app.gql('{ gitIntegrations { kind repositories { totalCount } } }')
  expect(data.gitIntegrations).toEqual([
    { kind: 'directory', repositories: { totalCount: 0 } },
    { kind: 'app', repositories: null },
  ])
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['GITPROVIDER_UNAVAILABLE'])
  const refused = await app.call('POST', '/v2/deployments', { body: git(`${app.provider.webUrl}/acme/repo-001.git`) })
  expect(refused).toMatchObject({ status: 502, body: { code: 'GITPROVIDER_UNAVAILABLE' } })
})

const git = (repo_url: string) => {
  const body = bodies.gitprovider(id)
  return { ...body, source_config: { ...body.source_config, repo_url } }
}

test('a deployment can use a repository of the installation, and no other', async () => {
  const { body } = await repos()
  expect((await app.create(git(body[0].url))).source_config.repo_url).toBe(body[0].url)
  await app.provider.repository('stranger/private', { disk: false })
  const urls = [`${app.provider.webUrl}/stranger/private.git`, 'https://elsewhere.example/acme/repo-001', 'file:///etc']
  // one message for every reason that prevents a build
  urls.push('ftp://elsewhere.example/acme/repo-001', app.provider.webUrl.replace('//', '//me:pw@'))
  for (const url of urls) {
    const refused = await app.call('POST', '/v2/deployments', { body: git(url) })
    expect(violations(refused)).toEqual(['body.source_config.repo_url value_error'])
  }
})

test('a suspended and a deleted installation answer 409 with the reason', async () => {
  const url = `${app.provider.webUrl}/acme/repo-002.git`
  await app.core.db.integration.update({ where: { id }, data: { suspendedAt: new Date() } })
  expect(await repos()).toMatchObject({ status: 409, body: { detail: expect.stringContaining('is suspended') } })
  expect((await app.call('POST', '/v2/deployments', { body: git(url) })).status).toBe(409)
  const [first] = (await app.call('GET', '/v2/deployments')).body.resources
  expect(first.status_message ?? '').toMatch(/suspended|being prepared/)
  await app.core.db.integration.update({ where: { id }, data: { suspendedAt: null } })

  app.provider.uninstall(installed)
  expect(await repos()).toMatchObject({ status: 409, body: { detail: expect.stringContaining('no longer installed') } })
})
