// From a push at the git provider to an agent that answers: a real server with its worker, git over http, webhooks.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { type FakeGitProvider, openGitProvider } from '../support/gitprovider/open.ts'
import { agentFiles } from '../support/repository.ts'

const FILES = agentFiles()

let provider: FakeGitProvider
let app: TestApp

beforeAll(async () => {
  provider = await openGitProvider()
  app = await testApp({ settings: { ...provider.settings, WORKER: 'on', APPS_PORT: '0' } })
})
afterAll(async () => {
  await app?.close()
  await provider?.close()
})

test('a push is built at its exact commit, its agent answers, and the commit gets its status, also after a rename', async () => {
  const repository = await provider.repository('acme/agent')
  const first = await provider.push(repository, 'main', FILES)
  const installed = provider.install('acme', { repositories: [repository], users: ['ada'] })

  const started = await app.gql('mutation { startGitIntegration { ... on StartGitIntegrationSuccess { installUrl } } }')
  const state = new URL(started.data.startGitIntegration.installUrl).searchParams.get('state')!
  const back = new URLSearchParams({ state, installation_id: String(installed.id), code: provider.code('ada') })
  expect((await app.rest('GET', `/v1/integrations/gitprovider/setup?${back}`, { key: null })).status).toBe(200)
  const integrations = (await app.rest('GET', '/v1/integrations/gitprovider/install')).body
  const integration = integrations.find(
    (one: { installation_id: unknown }) => String(one.installation_id) === String(installed.id),
  )

  const created = await app.rest('POST', '/v2/deployments', {
    body: {
      name: 'agent',
      source: 'gitprovider',
      source_config: {
        integration_id: integration.id,
        repo_url: repository.url,
        build_on_push: true,
        deployment_type: 'dev',
      },
      source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
      secrets: [],
      access: 'public',
    },
  })
  expect(created.status, created.text).toBe(201)
  const { id } = created.body
  const newest = async () => (await app.rest('GET', `/v2/deployments/${id}/revisions`)).body.resources[0]
  const deployed = (sha: string) =>
    expect
      .poll(newest, { timeout: 60_000, interval: 200 })
      .toMatchObject({ status: 'DEPLOYED', source_revision_config: { repo_commit_sha: sha } })
  await deployed(first)

  const pushed = await provider.push(repository, 'main', { 'greeting.txt': 'Pushed\n' })
  const hook = `${app.url}/v1/integrations/gitprovider/webhook`
  const payload = provider.payload.push(repository, installed, { branch: 'main', before: first, after: pushed })
  expect((await provider.deliver(hook, 'push', payload)).status).toBe(202)
  await deployed(pushed)

  const { customUrl } = await app.app.core.db.deployment.findUniqueOrThrow({ where: { id } })
  expect(await (await fetch(customUrl!)).text()).toContain('Pushed')
  const metrics = async () => (await fetch(`${app.url}/metrics`)).text()
  const labels = `deployment="${id}",workspace="${created.body.tenant_id}"`
  await expect.poll(metrics).toContain(`pilothouse_agent_requests_total{status="2xx",${labels}} 1`)
  expect(await metrics()).toContain(`pilothouse_agent_replicas{${labels}} 1`)
  await expect
    .poll(() => provider.statuses(repository, pushed).at(-1), { timeout: 15_000 })
    .toMatchObject({ state: 'success', context: 'pilothouse/agent', targetUrl: customUrl })
  // of fast consecutive statuses only the newest is sent (commit-status.test.ts has each of them)
  const before = provider.statuses(repository, pushed).slice(0, -1)
  expect(before.filter(({ state }) => state !== 'pending')).toEqual([])

  await provider.rename(repository, 'acme/renamed')
  const renamed = await provider.push(repository, 'main', { 'greeting.txt': 'Renamed\n' })
  const told = provider.payload.push(repository, installed, { branch: 'main', before: pushed, after: renamed })
  expect((await provider.deliver(hook, 'push', told)).status).toBe(202)
  await deployed(renamed)
  await expect
    .poll(() => provider.statuses(repository, renamed).at(-1), { timeout: 15_000 })
    .toMatchObject({ state: 'success' })
}, 120_000)
