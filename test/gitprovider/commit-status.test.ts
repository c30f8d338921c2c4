// Commit statuses: content, time and receiver of each report.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createGitProvider as openClient } from '../../src/adapters/git-provider/create-git-provider.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import type { Claim, Step } from '../../src/domain/protocol/protocol.ts'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { commitStatus, reportStatuses } from '../../src/domain/sources/commit-statuses.ts'
import type { Core, RequestContext } from '../../src/domain/transaction/context.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { gitBody, type TestDomain, testDomain } from '../support/domain.ts'
import { type FakeGitProvider, type FakeRepository, openGitProvider } from '../support/gitprovider/open.ts'
import { claimOne, succeed } from '../support/holder.ts'

const ADDRESS = 'http://127.0.0.1:3100'

let provider: FakeGitProvider
let domain: TestDomain
let core: Core
let ctx: RequestContext
let repository: FakeRepository
let head: string
const warned: string[] = []

beforeAll(async () => {
  provider = await openGitProvider()
  domain = await testDomain()
  core = domain.core
  core.log = { info: () => {}, warn: (_, message) => void warned.push(message), error: () => {} }
  core.gitProvider = await openClient(readConfig({ ...provider.settings }), core.log)
})
beforeEach(async () => {
  provider.outage(null)
  await core.db.commitStatus.deleteMany()
  ctx = await domain.tenant()
  repository = await provider.repository(`acme/agent-${randomUUID().slice(0, 8)}`)
  head = await provider.push(repository, 'main', { 'greeting.txt': 'Hello\n' })
})
afterAll(async () => {
  await domain?.close()
  await provider?.close()
})

interface Deployed {
  id: string
  name: string
  integrationId: string
}

/** A deployment of the repository with a separate installation and no finished step. */
async function deployment(): Promise<Deployed> {
  const installation = provider.install('acme', { repositories: [repository] })
  const integration = await ctx.db.integration.create({
    data: {
      workspaceId: ctx.workspace.id,
      kind: 'app',
      name: 'acme',
      installationId: BigInt(installation.id),
      account: 'acme',
    },
  })
  const body = await gitBody(ctx)
  // created with a directory and then moved, because another test covers the provider's check at creation
  const { deploymentId: id } = await createDeployment(ctx, { body })
  await ctx.db.deployment.update({
    where: { id },
    data: { integrationId: integration.id, repoUrl: repository.url },
  })
  await ctx.db.revision.updateMany({ where: { deploymentId: id }, data: { repoUrl: repository.url } })
  return { id, name: body.name, integrationId: integration.id }
}

const told = () => provider.statuses(repository, head).map(({ state }) => state)
const ours = () => ({ revision: { deployment: { workspaceId: ctx.workspace.id } } })
const waiting = () => core.db.commitStatus.count({ where: ours() })
const latest = async (id: string) => (await core.db.deployment.findUniqueOrThrow({ where: { id } })).latestRevisionId!

/** The report of a successful step. */
function done(claim: Claim, step: Step) {
  if (step.kind !== 'BUILD') return succeed(domain.plane, claim, step)
  return domain.plane.complete({
    claimId: claim.claimId,
    token: claim.token,
    stepId: step.id,
    outcome: 'succeeded',
    repoCommitSha: head,
    artifact: `artifact-${step.id}`,
  })
}

/** Works until a step of this kind is next, and takes it. */
async function workTo(id: string, kind: 'BUILD' | 'DEPLOY') {
  const claim = await claimOne(domain.plane, id)
  let step = claim.step
  while (step && step.kind !== kind) step = (await done(claim, step)).assignment.step
  return { claim, step: step! }
}

/** Works until no step is left. */
async function workOff(id: string): Promise<void> {
  const { claim, step } = await workTo(id, 'DEPLOY')
  await done(claim, step)
  await domain.plane.release(claim)
}

test('a commit gets a pending status during its build and then the deployment’s URL', async () => {
  const { id, name } = await deployment()
  expect(await waiting()).toBe(0)
  const { claim, step } = await workTo(id, 'DEPLOY')
  await reportStatuses(core)
  await done(claim, step)
  await reportStatuses(core)
  const [pending, success] = provider.statuses(repository, head)
  const revision = `${core.publicUrl()}/v2/deployments/${id}/revisions/${await latest(id)}`
  expect(pending).toMatchObject({ state: 'pending', context: `pilothouse/${name}`, targetUrl: revision })
  expect(success).toMatchObject({ state: 'success', context: `pilothouse/${name}`, targetUrl: ADDRESS })
  expect(told()).toEqual(['pending', 'success'])
  expect(await waiting()).toBe(0)
})

test('a failure is reported with its message, and a redeploy starts again', async () => {
  const { id } = await deployment()
  const { claim, step } = await workTo(id, 'DEPLOY')
  await domain.plane.complete({
    claimId: claim.claimId,
    token: claim.token,
    stepId: step.id,
    outcome: 'failed',
    message: `The agent ended with exit code 3.\n${'output '.repeat(50)}`,
  })
  await domain.plane.release(claim)
  await reportStatuses(core)
  expect(provider.statuses(repository, head).at(-1)).toMatchObject({
    state: 'failure',
    description: 'The agent ended with exit code 3.',
  })
  await redeployRevision(ctx, { path: { deployment_id: id, revision_id: await latest(id) } })
  await reportStatuses(core)
  await workOff(id)
  await reportStatuses(core)
  expect(told()).toEqual(['failure', 'pending', 'success'])
})

test.each(['failed', 'stopped'] as const)('a build that %s is reported once, to its own commit', async (outcome) => {
  const { id } = await deployment()
  const { claim, step } = await workTo(id, 'BUILD')
  const revision = await latest(id)
  if (outcome === 'stopped') await interruptRevision(ctx, { path: { deployment_id: id, revision_id: revision } })
  // the commit is still unknown
  expect(await waiting()).toBe(0)
  const report = { claimId: claim.claimId, token: claim.token, stepId: step.id, outcome, repoCommitSha: head }
  await domain.plane.complete(report)
  await reportStatuses(core)
  // its response was lost
  await domain.plane.complete(report)
  await domain.plane.release(claim)
  expect(await waiting()).toBe(0)
  expect(told()).toEqual([outcome === 'failed' ? 'failure' : 'error'])

  const moved = await provider.push(repository, 'main', { 'greeting.txt': 'Moved\n' })
  await redeployRevision(ctx, { path: { deployment_id: id, revision_id: revision } })
  // a report for another worker changes nothing
  const built = head
  head = moved
  await workOff(id)
  await reportStatuses(core)
  expect([provider.statuses(repository, built).at(-1)!.state, told()]).toEqual(['success', []])
})

test('a skipped revision is reported as skipped', async () => {
  const { id } = await deployment()
  await workOff(id)
  await reportStatuses(core)
  const skipped = await latest(id)
  await redeployRevision(ctx, { path: { deployment_id: id, revision_id: skipped } })
  await updateDeployment(ctx, {
    path: { deployment_id: id },
    body: { source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' } },
  })
  await reportStatuses(core)
  expect(told().at(-1)).toBe('error')
  expect((await core.db.revision.findUniqueOrThrow({ where: { id: skipped } })).status).toBe('SKIPPED')
})

test('an unavailable provider delays the status but not the deployment', async () => {
  const { id } = await deployment()
  provider.outage('500')
  await workOff(id)
  await reportStatuses(core)
  expect((await core.db.revision.findUniqueOrThrow({ where: { id: await latest(id) } })).status).toBe('DEPLOYED')
  const row = await core.db.commitStatus.findFirstOrThrow({ where: ours() })
  expect(row.tries).toBe(1)
  expect(row.dueAt.getTime()).toBeGreaterThan(Date.now() + 2000)
  provider.outage(null)
  await core.db.commitStatus.updateMany({ data: { dueAt: new Date(Date.now() - 1000) } })
  await reportStatuses(core)
  expect(told()).toEqual(['success'])
  expect(await waiting()).toBe(0)
})

test('a status is given up after a day without the provider, with one log line', async () => {
  const { id } = await deployment()
  provider.outage('down')
  await workOff(id)
  await core.db.commitStatus.updateMany({ data: { since: new Date(Date.now() - 25 * 3_600_000) } })
  warned.length = 0
  await reportStatuses(core)
  expect(await waiting()).toBe(0)
  expect(warned.filter((message) => /gave up on a commit status/.test(message))).toHaveLength(1)
})

test('two servers report each status once and take over from a dead one', async () => {
  const ids = await Promise.all(Array.from({ length: 4 }, async () => (await deployment()).id))
  for (const id of ids) await workOff(id)
  provider.latency(50)
  await Promise.all([reportStatuses(core), reportStatuses({ ...core })]).finally(() => provider.latency(0))
  expect(told()).toEqual(['success', 'success', 'success', 'success'])

  await redeployRevision(ctx, { path: { deployment_id: ids[0]!, revision_id: await latest(ids[0]!) } })
  await core.db.$executeRaw`UPDATE commit_statuses SET taken_until = now() + interval '1 minute'`
  await reportStatuses(core)
  expect(told()).toHaveLength(4)
  await core.db.$executeRaw`UPDATE commit_statuses SET taken_until = now() - interval '1 second'`
  await reportStatuses(core)
  expect(told()).toHaveLength(5)
})

test('a revision that changes during a report is reported again, newest last', async () => {
  const { id } = await deployment()
  const { claim, step } = await workTo(id, 'DEPLOY')
  const real = core.gitProvider!
  let moved = false
  const slow: Core = {
    ...core,
    gitProvider: {
      ...real,
      async createStatus(...args) {
        if (!moved) {
          moved = true
          await done(claim, step)
          // another server reports nothing, because the older report still holds the lease
          await reportStatuses(core)
        }
        return real.createStatus(...args)
      },
    },
  }
  await reportStatuses(slow)
  expect(told()).toEqual(['pending', 'success'])
  expect(await waiting()).toBe(0)
})

test('an unknown commit and a removed integration are not retried', async () => {
  const { id, integrationId } = await deployment()
  const known = head
  head = 'c0ffee'.padEnd(40, '0')
  await workOff(id)
  await reportStatuses(core)
  expect(await waiting()).toBe(0)
  head = known
  await core.db.integration.update({ where: { id: integrationId }, data: { removedAt: new Date() } })
  await redeployRevision(ctx, { path: { deployment_id: id, revision_id: await latest(id) } })
  expect(await waiting()).toBe(1)
  await reportStatuses(core)
  expect(await waiting()).toBe(0)
  expect(told()).toEqual([])
})

test('a repository without an installation gets no status', async () => {
  const { deploymentId: id } = await createDeployment(ctx, { body: await gitBody(ctx) })
  await workOff(id)
  expect(await waiting()).toBe(0)
})

test('a long message is cut to the provider’s limit', () => {
  const of = (statusMessage: string | null) =>
    commitStatus(
      {
        id: 'r',
        status: 'BUILD_FAILED',
        statusMessage,
        deployment: { id: 'd', name: 'agent', customUrl: 'https://agent.example.com' },
      },
      'https://pilothouse.example.com',
    )
  expect(of('x'.repeat(140)).description).toHaveLength(140)
  expect(of('x'.repeat(141)).description).toBe(`${'x'.repeat(139)}…`)
  expect(of(`${'x'.repeat(138)}😀😀`).description).toBe(`${'x'.repeat(138)}…`)
  expect(of(null).description).toBe('The build failed')
  expect(of('first\nsecond')).toEqual({
    state: 'failure',
    context: 'pilothouse/agent',
    description: 'first',
    targetUrl: 'https://pilothouse.example.com/v2/deployments/d/revisions/r',
  })
})
