/** What a delivery of the git provider causes: leases on deliveries, shared requests to the provider, and new revisions. */
import { randomBytes, randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { type GitProvider, ProviderUnavailableError } from '../../src/domain/ports/git-provider.ts'
import { redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { leaseGroup, purgeDeliveries, startOfRound } from '../../src/domain/sources/webhooks/delivery-queue.ts'
import { handleDeliveries } from '../../src/domain/sources/webhooks/handle.ts'
import { receiveDelivery } from '../../src/domain/sources/webhooks/receive.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { useDomain } from '../support/domain.ts'
import { settle } from '../support/holder.ts'

const INSTALLATION = 4711
const running = new AbortController().signal
const commit = () => randomBytes(20).toString('hex')

const domain = useDomain()
let ctx: RequestContext
/** the git provider's answer, and how often it was called */
let asked: number
let answer: () => Promise<string | null>
let known: { suspended: boolean } | null
let deploymentId: string

const not = () => Promise.reject(new Error('is not asked for here'))
const provider: GitProvider = {
  installUrl: not,
  mayUse: null,
  repositories: not,
  createStatus: not,
  cloneToken: async () => ({ token: 'of no use', repositoryId: 1, repository: 'acme/agent' }),
  installation: async (id) => known && { id, account: 'acme', createdAt: new Date(0), ...known },
  branchHead() {
    asked++
    return answer()
  },
  repositoryOf: (url) => /^https:\/\/git\.example\.com\/(.+?)(\.git)?$/.exec(url)?.[1] ?? null,
  verifyWebhook: async () => true,
}

beforeAll(async () => {
  domain.core.gitProvider = provider
})

beforeEach(async () => {
  await domain.core.db.webhookDelivery.deleteMany()
  await domain.core.db.deployment.updateMany({ data: { buildOnPush: false } })
  await domain.core.db.integration.deleteMany({ where: { kind: 'app', deployments: { none: {} } } })
  asked = 0
  known = { suspended: false }
  ctx = await domain.tenant()
  deploymentId = await follower(ctx)
})

/** A deployment that builds on each push to the main branch of acme/agent. */
async function follower(owner: RequestContext, installationId = INSTALLATION): Promise<string> {
  const { id: workspaceId } = owner.workspace
  const integration = await domain.core.db.integration.create({
    data: { workspaceId, kind: 'app', name: 'acme', account: 'acme', installationId },
  })
  const { deploymentId } = await createDeployment(owner, {
    body: {
      name: `agent-${randomUUID()}`,
      source: 'gitprovider',
      source_config: {
        integration_id: integration.id,
        repo_url: 'https://git.example.com/Acme/agent.git',
        build_on_push: true,
      },
      source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
      secrets: [],
    },
  })
  return deploymentId
}

function pushed(after: string, id = randomUUID(), head?: object) {
  return receiveDelivery(domain.core, {
    header: { 'x-github-delivery': id, 'x-github-event': 'push' },
    body: {
      ref: 'refs/heads/main',
      after,
      repository: { full_name: 'acme/agent' },
      installation: { id: INSTALLATION },
      ...(head ? { head_commit: head } : {}),
    },
  })
}

const heard = (action: string) =>
  receiveDelivery(domain.core, {
    header: { 'x-github-delivery': randomUUID(), 'x-github-event': 'installation' },
    body: { action, installation: { id: INSTALLATION } },
  })

const commits = async (id = deploymentId) =>
  (await domain.core.db.revision.findMany({ where: { deploymentId: id }, orderBy: { number: 'asc' } })).map(
    ({ repoCommitSha }) => repoCommitSha,
  )
const open = () => domain.core.db.webhookDelivery.findMany({ where: { finishedAt: null } })
/** Ends the delay before the next request. */
const later = () =>
  domain.core.db.$executeRaw`UPDATE webhook_deliveries SET not_before = now() - interval '1 s', leased_until = NULL`
const handle = () => handleDeliveries(domain.core, running)

test('a push makes a revision of the commit that the branch points to', async () => {
  const head = commit()
  answer = async () => head
  await pushed(head)
  await handle()
  expect(await commits()).toEqual([null, head])
  const event = await domain.core.db.event.findFirstOrThrow({
    where: { deploymentId, message: { contains: head } },
  })
  expect(event).toMatchObject({
    type: 'revision.status',
    toStatus: 'CREATING',
    actor: null,
    actorKind: 'git_provider',
    message: `Commit ${head} was pushed to main.`,
  })
  expect(await open()).toEqual([])
})

test('a push’s revision has the commit message from the delivery about that commit', async () => {
  const head = commit()
  answer = async () => head
  const words = { message: 'Answer faster\n\nand better', author: { name: 'Ada Lovelace' } }
  await pushed(commit(), randomUUID(), { id: head, ...words })
  await pushed(head, randomUUID(), { id: head, ...words })
  await pushed(commit(), randomUUID(), { id: 7 })
  await handle()
  const { latestRevision } = await domain.core.db.deployment.findUniqueOrThrow({
    where: { id: deploymentId },
    include: { latestRevision: true },
  })
  expect(latestRevision).toMatchObject({
    ...{ repoCommitSha: head, commitMessage: 'Answer faster', commitAuthor: 'Ada Lovelace', trigger: 'push' },
    createdActor: { kind: 'git_provider', id: null, name: null },
  })
})

test('a late delivery does not undo a rollback with changed secrets, but a new push goes live', async () => {
  const head = commit()
  answer = async () => head
  await settle(domain.plane)
  const first = (await domain.core.db.deployment.findUniqueOrThrow({ where: { id: deploymentId } })).activeRevisionId!
  const [built] = await commits()
  await pushed(head)
  await handle()
  await settle(domain.plane)
  const path = { deployment_id: deploymentId }
  await redeployRevision(ctx, { path: { ...path, revision_id: first } })
  await settle(domain.plane)
  await updateDeployment(ctx, { path, body: { secrets: [{ name: 'A', value: 'b' }] } })
  expect(await commits()).toEqual([built, head, built])
  await pushed(head)
  await handle()
  expect(await commits()).toEqual([built, head, built])

  const newer = commit()
  answer = async () => newer
  await pushed(newer)
  await handle()
  expect(await commits()).toEqual([built, head, built, newer])
})

test('five hundred waiting deliveries cost one request to the provider, and a replay costs none', async () => {
  const head = commit()
  answer = async () => head
  const id = randomUUID()
  for (let n = 0; n < 499; n++) await pushed(commit())
  expect(await pushed(head, id)).toEqual({ duplicate: false })
  expect(await pushed(head, id)).toEqual({ duplicate: true })
  await handle()
  expect(asked).toBe(1)
  // the older deliveries disagree with the answer: together they cost one more request
  expect(await open()).toHaveLength(499)
  await later()
  await handle()
  expect([asked, await open(), await commits()]).toEqual([2, [], [null, head]])
})

test('an answer that is older than the push is requested once more', async () => {
  const [before, head] = [commit(), commit()]
  answer = async () => before
  await pushed(before)
  await handle()
  await pushed(head)
  await handle()
  answer = async () => head
  await later()
  await handle()
  expect(await commits()).toEqual([null, before, head])
})

test('two servers handle deliveries of one branch one after the other', async () => {
  await pushed(commit())
  await pushed(commit())
  const until = (await startOfRound(domain.core))!
  const taken = await Promise.all([1, 2, 3].map(() => leaseGroup(domain.core, until)))
  expect(taken.filter(Boolean).map((group) => group!.deliveries.length)).toEqual([2])
  await pushed(commit())
  expect(await leaseGroup(domain.core, (await startOfRound(domain.core))!)).toBeNull()
})

test('a server whose delivery another server took over writes nothing', async () => {
  const [stale, head] = [commit(), commit()]
  await pushed(head)
  answer = async () => {
    // while this server waits for the answer, its lease ends and another server does the work
    answer = async () => head
    await later()
    await handle()
    return stale
  }
  await handle()
  expect(await commits()).toEqual([null, head])
})

test('a delivery waits longer after each failure of the provider and is dropped after a day', async () => {
  const head = commit()
  answer = () => Promise.reject(new ProviderUnavailableError('answered 503'))
  await pushed(head)
  const pauses: number[] = []
  for (let n = 0; n < 9; n++) {
    await handle()
    const [delivery] = await open()
    // the time that was left when the lease was read
    pauses.push(Math.ceil((delivery!.notBefore.getTime() - Date.now()) / 1000))
    await later()
  }
  expect(pauses).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600])
  expect(await commits()).toEqual([null])
  await domain.core.db.$executeRaw`UPDATE webhook_deliveries SET received_at = now() - interval '25 hours'`
  await handle()
  expect(await open()).toEqual([])
})

test('a stopping server returns its deliveries, and no try counts', async () => {
  const stopping = new AbortController()
  answer = () => {
    stopping.abort()
    return Promise.reject(new Error('aborted'))
  }
  await pushed(commit())
  await handleDeliveries(domain.core, stopping.signal)
  expect(await open()).toMatchObject([{ tries: 0, leasedUntil: null }])
})

test('a push to a deleted branch or to a repository without deployments changes nothing', async () => {
  answer = async () => null
  await pushed(commit())
  await handle()
  expect([asked, await commits(), await open()]).toEqual([1, [null], []])
  await domain.core.db.deployment.updateMany({ data: { buildOnPush: false } })
  await pushed(commit())
  await handle()
  expect([asked, await commits(), await open()]).toEqual([1, [null], []])
})

test('every workspace learns that an installation was suspended, resumed or removed', async () => {
  const second = await domain.tenant()
  await follower(second)
  const where = { installationId: INSTALLATION, workspaceId: { in: [ctx.workspace.id, second.workspace.id] } }
  const states = async () =>
    (await domain.core.db.integration.findMany({ where })).map(({ removedAt, suspendedAt }) =>
      removedAt ? 'removed' : suspendedAt ? 'suspended' : 'live',
    )
  for (const [action, there, state] of [
    ['suspend', { suspended: true }, 'suspended'],
    ['unsuspend', { suspended: false }, 'live'],
    ['new_permissions_accepted', { suspended: false }, 'live'],
    ['deleted', null, 'removed'],
  ] as const) {
    known = there
    await heard(action)
    await handle()
    expect([await states(), await open()]).toEqual([[state, state], []])
  }
  const events = await domain.core.db.event.findMany({
    where: { workspaceId: second.workspace.id, type: { startsWith: 'integration.' } },
    orderBy: { sequence: 'asc' },
  })
  expect(events.map(({ type }) => type)).toEqual([
    'integration.suspended',
    'integration.unsuspended',
    'integration.removed',
  ])
})

test('a handled delivery is kept for seven days', async () => {
  await pushed(commit())
  await pushed(commit())
  const [kept] = await open()
  await domain.core.db.$executeRaw`UPDATE webhook_deliveries SET received_at = now() - interval '9 days',
    finished_at = CASE WHEN id = ${kept!.id} THEN now() - interval '6 days' ELSE now() - interval '8 days' END`
  await purgeDeliveries(domain.core)
  expect(await domain.core.db.webhookDelivery.findMany()).toMatchObject([{ id: kept!.id }])
})
