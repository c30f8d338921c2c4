/** A server with a stand-in of the git provider, and pushes to it, for webhook tests. */
import { randomUUID } from 'node:crypto'
import { GITPROVIDER_CHANNEL } from '../../src/domain/sources/webhooks/receive.ts'
import type { Core } from '../../src/domain/transaction/context.ts'
import { type TestApp, type TestTenant, testApp } from '../support/app.ts'
import {
  type FakeGitProvider,
  type FakeInstallation,
  type FakeRepository,
  openGitProvider,
} from '../support/gitprovider/open.ts'

export interface PushFixture {
  provider: FakeGitProvider
  app: TestApp
  core: Core
  /** acme/agent, in an installation of workspace A */
  repo: FakeRepository
  installed: FakeInstallation
  webhook: string
  /** Creates the integration of an installation in a workspace. */
  integrate(installed: FakeInstallation, tenant?: TestTenant): Promise<string>
  /** Creates a deployment that builds on push to the branch. Returns its id. */
  deploy(how?: Deploy): Promise<string>
  /** Commits to a branch without a delivery. */
  commit(branch?: string): Promise<string>
  /** Delivers a push event. */
  deliverPush(
    after: string | null,
    how?: { branch?: string; id?: string; repo?: FakeRepository; installed?: FakeInstallation },
  ): Promise<Response>
  /** Commits of the deployment's revisions, oldest first. */
  commits(deploymentId: string): Promise<(string | null)[]>
  /** Resolves when every delivery is handled. Skips the delays. */
  settled(): Promise<void>
  /** Resolves when the condition is true. */
  eventually(holds: () => Promise<boolean>): Promise<void>
  /** Number of requests for a branch's head. */
  branchLookups(): number
  close(): Promise<void>
}

interface Deploy {
  integrationId?: string
  repoUrl?: string
  branch?: string
  buildOnPush?: boolean
  key?: string
}

export async function pushFixture(): Promise<PushFixture> {
  const provider = await openGitProvider()
  const app = await testApp({ settings: provider.settings })
  const { core } = app.app
  const repo = await provider.repository('acme/agent')
  const installed = provider.install('acme', { repositories: [repo] })
  const webhook = `${app.url}/v1/integrations/gitprovider/webhook`

  const integrate: PushFixture['integrate'] = async ({ id, account }, tenant = app.tenant) => {
    const { workspaceId } = tenant
    const data = { workspaceId, kind: 'app', name: account, account, installationId: id } as const
    return (await core.db.integration.create({ data })).id
  }
  const own = await integrate(installed)
  let files = 0

  async function eventually(holds: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + 30_000
    while (!(await holds())) {
      if (Date.now() > end) throw new Error('it did not come true')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  return {
    provider,
    app,
    core,
    repo,
    installed,
    webhook,
    integrate,
    eventually,
    async deploy({ integrationId = own, repoUrl = repo.url, branch = 'main', buildOnPush = true, key } = {}) {
      const body = {
        name: `agent-${randomUUID()}`,
        source: 'gitprovider',
        source_config: { integration_id: integrationId, repo_url: repoUrl, build_on_push: buildOnPush },
        source_revision_config: { repo_ref: branch, graph_config_path: 'graph.json' },
        secrets: [],
      }
      const answer = await app.rest('POST', '/v2/deployments', { body, ...(key ? { key } : {}) })
      if (answer.status !== 201) throw new Error(answer.text)
      return answer.body.id
    },
    commit: (branch = 'main') => provider.push(repo, branch, { 'greeting.txt': `Hello ${++files}\n` }),
    deliverPush(after, { branch = 'main', id, repo: where = repo, installed: whose = installed } = {}) {
      return provider.deliver(webhook, 'push', provider.payload.push(where, whose, { branch, after }), id ? { id } : {})
    },
    async commits(deploymentId) {
      const found = await core.db.revision.findMany({ where: { deploymentId }, orderBy: { number: 'asc' } })
      return found.map(({ repoCommitSha }) => repoCommitSha)
    },
    settled: () =>
      eventually(async () => {
        await core.db
          .$executeRaw`UPDATE webhook_deliveries SET not_before = now() - interval '1 s' WHERE finished_at IS NULL`
        await core.db.$executeRaw`SELECT pg_notify(${GITPROVIDER_CHANNEL}, '')`
        return (await core.db.webhookDelivery.count({ where: { finishedAt: null } })) === 0
      }),
    branchLookups: () => provider.calls.filter(({ path }) => path.includes('/git/ref/')).length,
    async close() {
      await app.close()
      await provider.close()
    },
  }
}
