/** The builders' protocol: who gets which build, and what happens to the revision. */
import { addAbortSignal, Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import {
  accessForBuilder,
  completeForBuilder,
  heartbeatOfBuilder,
  logsOfBuilder,
  releaseForBuilder,
  tarballForBuilder,
} from '../../src/domain/builders/control-plane.ts'
import { WHY_NOT_LIVE_FIELDS, whyNotLive } from '../../src/domain/deployment-status/condition.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { repositoryOf } from '../../src/domain/ports/registry.ts'
import type { Claim } from '../../src/domain/protocol/protocol.ts'
import { readQueuePositions } from '../../src/domain/revisions/read.ts'
import { interruptRevision } from '../../src/domain/rollouts/redeploy.ts'
import { sweep } from '../../src/domain/rollouts/sweep.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { createNotifier } from '../../src/platform/async/notifier.ts'
import { about, beatBuilds, builderOf, COMMIT, imageOf, successOfBuild, takeBuilds } from '../support/builders.ts'
import { as, gitBody, useDomain, useTenant } from '../support/domain.ts'
import { claimOne, settle, succeed } from '../support/holder.ts'
import { standInRegistry } from '../support/registry.ts'

const FAILED = { outcome: 'failed', reason: 'NO_BUILDER', message: 'BUILDER is none.' } as const

const domain = useDomain({ core: () => ({ registry: standInRegistry() }) })
const ctx = useTenant(domain)

interface Left {
  id: string
  /** the holder, with the answer to its offer */
  holder: Claim
  stepId: string
  builder: RequestContext
}

/** A deployment whose holder offered its build to an available builder. */
async function leftToBuilder(options: { wide?: boolean; tenant?: RequestContext } = {}): Promise<Left> {
  const tenant = options.tenant ?? (await domain.tenant())
  const builder = await builderOf(tenant, options)
  expect(await takeBuilds(builder)).toEqual([])
  const { id, holder, answer } = await leave(tenant)
  expect(answer).toMatchObject({
    recorded: true,
    assignment: { run: null, step: null, stop: false, builder: { holder: null } },
  })
  return { id, holder, stepId: answer.assignment.builder!.stepId, builder }
}

async function leave(tenant: RequestContext, report: object = { ...FAILED, elsewhere: true }) {
  const body = { ...(await gitBody(tenant)), secrets: [{ name: 'NPM_TOKEN', value: 's3cret' }] }
  const { deploymentId: id } = await createDeployment(tenant, { body })
  const holder = await claimOne(domain.plane, id)
  const { step } = (await succeed(domain.plane, holder, holder.step!)).assignment
  expect(step!.kind).toBe('BUILD')
  const { claimId, token } = holder
  const answer = await domain.plane.complete({ claimId, token, stepId: step!.id, ...FAILED, ...report })
  return { id, holder, answer }
}

const revisionOf = (id: string) =>
  domain.core.db.revision.findFirstOrThrow({ where: { deploymentId: id }, orderBy: { number: 'desc' } })
const stepOf = (id: string) => domain.core.db.step.findUniqueOrThrow({ where: { id } })
const expired = (id: string, ago = '1 second') =>
  domain.core.db.$executeRawUnsafe(
    `UPDATE steps SET builder_lease_expires_at = now() - interval '${ago}' WHERE deployment_id = '${id}'`,
  )
/** The holder's next news. */
async function heardBy({ claimId, token }: Claim) {
  const [answer] = await domain.plane.heartbeat({ leaseSeconds: 60, claims: [{ claimId, token }] })
  return answer!
}

describe('a build that its holder offers to builders', () => {
  test('is taken by a builder, built, and deployed by its holder', async () => {
    const { id, holder, stepId, builder } = await leftToBuilder()
    expect(await revisionOf(id)).toMatchObject({
      ...{ status: 'BUILDING', reason: 'WAITING_FOR_BUILDER', statusMessage: 'Waiting for a builder to build it.' },
    })
    const [claim, ...others] = await takeBuilds(builder, { holder: 'build-1', max: 5 })
    expect(others).toEqual([])
    expect(claim).toMatchObject({ stepId, token: '1', tries: 1, deployment: { id }, revision: { repoRef: 'main' } })
    expect(claim!.revision.secrets).toEqual([{ name: 'NPM_TOKEN', value: 's3cret' }])
    expect(claim!.secondsLeft).toBeGreaterThan(1700)
    expect(await revisionOf(id)).toMatchObject({ reason: 'IN_PROGRESS', statusMessage: 'Building on build-1.' })
    expect((await heardBy(holder)).assignment).toMatchObject({ step: null, builder: { stepId, holder: 'build-1' } })

    await logsOfBuilder(builder, about(claim!, { entries: [{ message: 'STEP 1', time: new Date().toISOString() }] }))
    const { id: revisionId } = await revisionOf(id)
    expect(await domain.core.db.logLine.findMany({ where: { revisionId } })).toMatchObject([
      { type: 'build', attempt: 1, level: 'info', message: 'STEP 1' },
    ])

    expect(await completeForBuilder(builder, successOfBuild(claim!))).toEqual({ recorded: true })
    expect(await completeForBuilder(builder, successOfBuild(claim!))).toEqual({ recorded: true })
    expect(await revisionOf(id)).toMatchObject({ artifact: imageOf(claim!), repoCommitSha: COMMIT })
    const { assignment } = await heardBy(holder)
    expect(assignment).toMatchObject({ step: { kind: 'DEPLOY', revision: { artifact: imageOf(claim!) } } })
    expect(assignment).not.toHaveProperty('builder')
    await succeed(domain.plane, holder, assignment!.step!)
    expect((await revisionOf(id)).status).toBe('DEPLOYED')
    expect(await heardBy(holder)).toMatchObject({ lost: false })
  })

  test('wakes a builder that waits for a build', async () => {
    const tenant = await domain.tenant()
    const notifier = createNotifier()
    const heard = { ...(await builderOf(tenant)), notifier }
    const waiting = takeBuilds(heard, { wait_seconds: 60 })
    await expect
      .poll(() => domain.core.db.apiKey.findUniqueOrThrow({ where: { id: heard.actor.subject } }))
      .toMatchObject({ builderSeenAt: expect.any(Date) })
    const { wake } = domain.core
    const woken: string[] = []
    domain.core.wake = (notices) => {
      for (const notice of notices) {
        woken.push(notice)
        notifier.notify(notice.split(' ')[1]!)
      }
    }
    const { id } = await leave(tenant)
    domain.core.wake = wake
    // the builders of this organization and workspace, and no others
    const { organizationId, id: workspaceId } = tenant.workspace
    const builders = woken.filter((notice) => notice.includes(' builders'))
    expect(new Set(builders)).toEqual(
      new Set([organizationId, workspaceId].map((whose) => `pilothouse_work builders:${whose}`)),
    )
    expect(await waiting).toMatchObject([{ deployment: { id } }])
    notifier.close()
  })

  test('fails immediately if no builder called lately, its key was revoked, or there is no registry', async () => {
    const failsWith = async (tenant: RequestContext) => {
      const { id } = await leave(tenant)
      expect(await revisionOf(id)).toMatchObject({
        status: 'BUILD_FAILED',
        reason: 'NO_BUILDER',
        statusMessage: 'BUILDER is none.',
      })
    }
    const tenant = await domain.tenant()
    await failsWith(tenant)
    const builder = await builderOf(tenant)
    await takeBuilds(builder)
    const key = { where: { id: builder.actor.subject } }
    await domain.core.db
      .$executeRaw`UPDATE api_keys SET builder_seen_at = now() - interval '91 seconds' WHERE id = ${builder.actor.subject}::uuid`
    await failsWith(tenant)
    await beatBuilds(builder, [])
    await domain.core.db.apiKey.update({ ...key, data: { revokedAt: new Date() } })
    await failsWith(tenant)
    await domain.core.db.apiKey.update({ ...key, data: { revokedAt: null } })
    const { registry } = domain.core
    domain.core.registry = null
    await failsWith(tenant)
    domain.core.registry = registry
    // another organization's
    await takeBuilds(await builderOf(await domain.tenant()))
    await domain.core.db.apiKey.update({ ...key, data: { builderSeenAt: null } })
    await failsWith(tenant)
  })

  test('is not handed to a holder by an older server on the same database', async () => {
    const { id, stepId } = await leftToBuilder()
    // the older server's query
    const due = await domain.core.db.$queryRaw<{ id: string }[]>`
      SELECT s.id FROM steps s WHERE s.deployment_id = ${id}::uuid AND s.finished_at IS NULL
        AND (s.not_before IS NULL OR s.not_before <= now())`
    expect(due).toEqual([])
    expect(await stepOf(stepId)).toMatchObject({ finishedAt: null })
  })

  test('reaches its organization’s builders although an older server offered it', async () => {
    const { builder, id, stepId } = await leftToBuilder()
    // the older server's row
    const data = { offeredTo: null, firstTakenAt: new Date(), deadlineAt: new Date(Date.now() + 1_800_000) }
    await domain.core.db.step.update({ where: { id: stepId }, data })
    expect(await takeBuilds(builder)).toEqual([])
    await sweep(domain.core)
    expect(await takeBuilds(builder)).toMatchObject([{ stepId, deployment: { id } }])

    // a build that the older server gave to a builder stays there while the lease holds, and is then offered again
    await domain.core.db.step.update({ where: { id: stepId }, data: { offeredTo: null } })
    await sweep(domain.core)
    expect(await takeBuilds(builder)).toEqual([])
    await domain.core.db.step.update({ where: { id: stepId }, data: { offeredTo: null } })
    await expired(id, '2 minutes')
    await sweep(domain.core)
    expect(await takeBuilds(builder)).toMatchObject([{ stepId, tries: 2 }])
  })

  test('has no position in the queue for workers', async () => {
    const tenant = await domain.tenant()
    const { id } = await leftToBuilder({ tenant })
    const { deploymentId: other } = await createDeployment(tenant, { body: await gitBody(tenant) })
    const [left, waiting] = [await revisionOf(id), await revisionOf(other)]
    const [{ ahead }] = (await domain.core.db.$queryRaw<[{ ahead: number }]>`
      SELECT count(*)::int AS ahead FROM steps s JOIN deployments d ON d.id = s.deployment_id
      WHERE s.finished_at IS NULL AND s.first_taken_at IS NULL AND s.offered_at IS NULL AND d.listener_id IS NULL
        AND s.deployment_id <> ${other}::uuid`)!
    expect(await readQueuePositions(tenant, [left.id, waiting.id])).toEqual(new Map([[waiting.id, ahead + 1]]))
  })

  test('fails immediately if its holder does not say that it can run builders’ images', async () => {
    const tenant = await domain.tenant()
    await takeBuilds(await builderOf(tenant))
    const { id, answer } = await leave(tenant, {})
    expect(answer.assignment).toMatchObject({ step: null })
    expect((await revisionOf(id)).status).toBe('BUILD_FAILED')
  })

  test('is offered once, even if its holder repeats the call after a lost answer', async () => {
    const { id, holder, stepId, builder } = await leftToBuilder()
    const { claimId, token } = holder
    const again = () => domain.plane.complete({ claimId, token, stepId, ...FAILED, elsewhere: true, tries: 1 })
    expect(await again()).toMatchObject({ recorded: true, assignment: { step: null, builder: { holder: null } } })
    const [claim] = await takeBuilds(builder, { holder: 'build-1' })
    expect(await again()).toMatchObject({ recorded: true, assignment: { step: null, builder: { holder: 'build-1' } } })
    expect(await beatBuilds(builder, [claim!])).toEqual([{ claimId: claim!.claimId, lost: false }])
    await completeForBuilder(builder, successOfBuild(claim!))
    expect(await again()).toMatchObject({ recorded: true, assignment: { step: { kind: 'DEPLOY' } } })
    expect((await revisionOf(id)).status).toBe('DEPLOYING')
  })

  test('continues while its holder is lost, and the next holder deploys it', async () => {
    const { id, holder, builder } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    await domain.plane.release(holder)
    await completeForBuilder(builder, successOfBuild(claim!))
    const next = await claimOne(domain.plane, id)
    expect(next.step).toMatchObject({ kind: 'DEPLOY', tries: 1 })
  })

  test('fails its revision with the builder’s message if it fails', async () => {
    const { id, holder, builder } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    const failed = {
      outcome: 'failed',
      reason: 'INSTALL_FAILED',
      message: 'npm ci ended with 1.',
      repo_commit_sha: COMMIT,
    }
    expect(await completeForBuilder(builder, about(claim!, failed))).toEqual({ recorded: true })
    expect(await revisionOf(id)).toMatchObject({
      ...{ status: 'BUILD_FAILED', reason: 'INSTALL_FAILED', statusMessage: 'npm ci ended with 1.' },
      repoCommitSha: COMMIT,
    })
    expect((await heardBy(holder)).assignment).toMatchObject({ run: null, step: null })
  })
})

describe('a build that waits for a builder', () => {
  const waitIsOver = (stepId: string) =>
    domain.core.db.$executeRaw`UPDATE steps SET not_before = now() - interval '1 second' WHERE id = ${stepId}::uuid`
  const silent = (tenant: RequestContext) =>
    domain.core.db
      .$executeRaw`UPDATE api_keys SET builder_seen_at = '2026-01-02T03:04:05Z' WHERE organization_id = ${tenant.workspace.organizationId}::uuid`

  test('has a separate limit for the wait; its deadline starts when a builder takes it', async () => {
    const { stepId, builder } = await leftToBuilder()
    const waiting = await stepOf(stepId)
    expect(waiting).toMatchObject({ firstTakenAt: null, deadlineAt: null })
    const minutes = (waiting.notBefore!.getTime() - waiting.offeredAt!.getTime()) / 60_000
    expect(minutes).toBe(domain.core.settings.builderWaitMinutes)
    await domain.core.db.step.update({
      where: { id: stepId },
      data: { createdAt: new Date(Date.now() - 2 * 86_400_000) },
    })
    await sweep(domain.core)
    const [claim] = await takeBuilds(builder)
    expect(claim!.secondsLeft).toBeGreaterThan(1790)
  })

  test('fails with a message that says what to do if no builder takes it before the limit', async () => {
    const { id, stepId } = await leftToBuilder()
    await waitIsOver(stepId)
    await sweep(domain.core)
    expect(await revisionOf(id)).toMatchObject({
      ...{ status: 'BUILD_FAILED', reason: 'NOBODY_TOOK_IT' },
      statusMessage:
        'No builder took it within 60 min (BUILDER_WAIT_MINUTES): all connected builders were busy. Start more builders, or raise their MAX_BUILDS.',
    })
    const tenant = await domain.tenant()
    const other = await leftToBuilder({ tenant })
    await silent(tenant)
    await waitIsOver(other.stepId)
    await sweep(domain.core)
    expect((await revisionOf(other.id)).statusMessage).toBe(
      'No builder took it within 60 min (BUILDER_WAIT_MINUTES): no builder has called since 2026-01-02T03:04:05Z. Start a builder with a key of the role builder.',
    )
  })

  test('shows when builders go silent and when one calls again', async () => {
    const tenant = await domain.tenant()
    const { id, builder } = await leftToBuilder({ tenant })
    await silent(tenant)
    await sweep(domain.core)
    const waits = {
      reason: 'BUILDER_SILENT',
      statusMessage: 'Waiting for a builder to build it: no builder has called since 2026-01-02T03:04:05Z.',
    }
    expect(await revisionOf(id)).toMatchObject({ status: 'BUILDING', ...waits })
    const row = await domain.core.db.deployment.findUniqueOrThrow({ where: { id }, select: WHY_NOT_LIVE_FIELDS })
    expect(whyNotLive(row, new Date())).toContain('no builder has called since 2026-01-02T03:04:05Z')
    await beatBuilds(builder, [])
    await sweep(domain.core)
    expect(await revisionOf(id)).toMatchObject({ reason: 'WAITING_FOR_BUILDER' })
  })

  test('fails at its deadline if its builder released it', async () => {
    const { id, builder } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    await releaseForBuilder(builder, about(claim!))
    await domain.core.db
      .$executeRaw`UPDATE steps SET deadline_at = now() - interval '1 second' WHERE id = ${claim!.stepId}::uuid`
    await sweep(domain.core)
    expect(await revisionOf(id)).toMatchObject({
      reason: 'DEADLINE',
      statusMessage:
        'The build exceeded its deadline of 30 min: the builder released it or was lost. Redeploy it, or raise BUILD_DEADLINE_MINUTES.',
    })
  })
})

describe('a builder', () => {
  test('with a key of an organization builds for all its workspaces, with a workspace’s key only for that one', async () => {
    const tenant = await domain.tenant()
    const { id: workspaceId } = await domain.core.db.workspace.create({
      data: { organizationId: tenant.workspace.organizationId, name: 'Sibling', eventCounter: { create: {} } },
    })
    const sibling = { ...tenant, workspace: { ...tenant.workspace, id: workspaceId } }
    const { builder: wide, id } = await leftToBuilder({ tenant, wide: true })
    const narrow = await builderOf(sibling)
    expect(await takeBuilds(narrow)).toEqual([])
    expect(await takeBuilds(await builderOf(ctx))).toEqual([])
    expect(await takeBuilds(wide)).toMatchObject([{ deployment: { id } }])
    const { id: theirs } = await leave(sibling)
    expect(await takeBuilds(wide)).toMatchObject([{ deployment: { id: theirs, workspaceId } }])
  })

  test('gets a token that pushes only to its deployment’s repository and expires at the deadline', async () => {
    const { builder, id } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    // ten of thirty minutes are left
    await builder.db.step.update({ where: { id: claim!.stepId }, data: { deadlineAt: new Date(Date.now() + 600_000) } })
    const repository = repositoryOf(claim!.deployment)
    const access = await accessForBuilder(builder, about(claim!))
    expect(access).toMatchObject({ git: null, tarball: false, failure: null })
    expect(access.repository).toMatchObject({ name: `registry.test/${repository}`, insecure: true, username: 'token' })
    const { seconds, ...token } = JSON.parse(access.repository!.password)
    expect(token).toEqual({ subject: `deployment:${id}`, access: [{ repository, actions: ['pull', 'push'] }] })
    expect(seconds).toBeLessThanOrEqual(600)
    expect(seconds).toBeGreaterThan(300)
  })

  test('gets advice if the source can’t be fetched', async () => {
    const { builder } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    const failure = { reason: 'INTEGRATION_UNAVAILABLE' as const, message: 'Its git integration was removed.' }
    const sources = { git: async () => ({ failure }), tarball: async () => ({ failure }) }
    expect(await accessForBuilder({ ...builder, sources }, about(claim!))).toMatchObject({ repository: null, failure })
  })

  test('loses the download of a source that it reads too slowly', async () => {
    const { builder } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    const endless = (signal: AbortSignal) => addAbortSignal(signal, new Readable({ read() {} }))
    const sources = {
      git: async () => ({ credentials: null }),
      tarball: async (_id: string, signal: AbortSignal) => ({ bytes: endless(signal) }),
    }
    const asked = { path: { claim_id: claim!.claimId }, query: { token: claim!.token } }
    const bytes = await tarballForBuilder({ ...builder, sources }, asked, 50)
    await expect(bytes.toArray()).rejects.toThrow()
  })

  test('may report only an image of its deployment as the artifact', async () => {
    const { builder, id } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    const digest = `sha256:${'0f'.repeat(32)}`
    for (const artifact of [
      undefined,
      'tree:somewhere',
      `image:registry.test/other@${digest}`,
      `image:elsewhere.test/${repositoryOf(claim!.deployment)}@${digest}`,
      `${imageOf(claim!)}0`,
      imageOf(claim!).replace('@sha256:', ':latest'),
    ]) {
      const report = about(claim!, { outcome: 'succeeded', repo_commit_sha: COMMIT, artifact })
      await expect(completeForBuilder(builder, report)).rejects.toMatchObject({
        violations: [{ loc: ['body', 'artifact'] }],
      })
    }
    const noCommit = about(claim!, { outcome: 'succeeded', artifact: imageOf(claim!) })
    await expect(completeForBuilder(builder, noCommit)).rejects.toMatchObject({
      violations: [{ loc: ['body', 'repo_commit_sha'] }],
    })
    expect((await revisionOf(id)).status).toBe('BUILDING')
  })

  test('gets 422 with the wrong fields of its report', async () => {
    const { builder } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    for (const call of [
      () => takeBuilds(builder, { max: 0 }),
      () => takeBuilds(builder, { holder: '' }),
      () => takeBuilds(builder, { wait_seconds: 61 }),
      () => beatBuilds(builder, [{ ...claim!, token: 'x' }]),
      () => logsOfBuilder(builder, about(claim!, { entries: [] })),
      () => completeForBuilder(builder, about(claim!, { outcome: 'done' })),
      () => releaseForBuilder(builder, { path: { claim_id: 'x' }, body: { token: '1' } }),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  })

  test('shares no build with another builder that claims concurrently', async () => {
    const { builder } = await leftToBuilder()
    const claims = await Promise.all(Array.from({ length: 6 }, (_, i) => takeBuilds(builder, { holder: `build-${i}` })))
    expect(claims.flat()).toHaveLength(1)
  })

  test('gets the next build if a build’s secrets can’t be decrypted', async () => {
    const tenant = await domain.tenant()
    const { id: sealed, builder } = await leftToBuilder({ tenant })
    const { id } = await leave(tenant)
    // encrypted with a key that only another server's ring has
    await domain.core.db.secretSet.updateMany({ where: { deploymentId: sealed }, data: { keyId: 'newer' } })
    expect(await takeBuilds(builder)).toEqual([])
    expect(await takeBuilds(builder)).toMatchObject([{ deployment: { id } }])
  })

  test('reports progress, which the revision shows and the change feed announces', async () => {
    const { builder, id } = await leftToBuilder()
    const [claim] = await takeBuilds(builder, { holder: 'build-1' })
    const beat = (progress?: object | null) =>
      heartbeatOfBuilder(builder, {
        body: {
          claims: [{ claim_id: claim!.claimId, token: claim!.token, ...(progress !== undefined && { progress }) }],
        },
      })
    const says = async () => (await revisionOf(id)).statusMessage
    const told = async (progress?: object | null) => {
      await domain.core.db.deploymentNews.deleteMany()
      await beat(progress)
      return (await domain.core.db.deploymentNews.count({ where: { deploymentId: id } })) > 0
    }
    expect(await told({ reason: 'IN_PROGRESS', message: 'Fetching refs/heads/main.' })).toBe(true)
    expect(await says()).toBe('Building on build-1: Fetching refs/heads/main.')
    expect(await told({ reason: 'IN_PROGRESS', message: 'Fetching refs/heads/main.' })).toBe(false)
    await beat()
    expect(await says()).toBe('Building on build-1: Fetching refs/heads/main.')
    await beat(null)
    expect(await says()).toBe('Building on build-1.')
  })

  test('waits for builds without a transaction and without a lock on its key', async () => {
    const tenant = await domain.tenant()
    const builder = await builderOf(tenant)
    const transact = () => expect.fail('a transaction was opened')
    const { subject } = builder.actor
    await domain.core.db.$transaction(async (other) => {
      await other.$queryRaw`SELECT id FROM api_keys WHERE id = ${subject}::uuid FOR UPDATE`
      expect(await takeBuilds({ ...builder, transact })).toEqual([])
      expect(await beatBuilds(builder, [])).toEqual([])
    })
    const key = () => domain.core.db.apiKey.findUniqueOrThrow({ where: { id: subject } })
    expect((await key()).builderSeenAt).toBeNull()
    expect(await takeBuilds({ ...builder, transact })).toEqual([])
    expect((await key()).builderSeenAt).not.toBeNull()
  })

  test('keeps its other builds while a transaction has one of them locked', async () => {
    const tenant = await domain.tenant()
    const { builder, stepId } = await leftToBuilder({ tenant })
    await leave(tenant)
    const [locked, free] = await takeBuilds(builder, { max: 2 })
    expect(locked!.stepId).toBe(stepId)
    const soon = new Date(Date.now() + 5_000)
    await domain.core.db.step.updateMany({
      where: { id: { in: [locked!.stepId, free!.stepId] } },
      data: { builderLeaseExpiresAt: soon },
    })
    await domain.core.db.$transaction(async (other) => {
      await other.$queryRaw`SELECT id FROM steps WHERE id = ${stepId}::uuid FOR UPDATE`
      expect(await beatBuilds(builder, [locked!, free!])).toMatchObject([{ lost: false }, { lost: false }])
    })
    expect((await stepOf(free!.stepId)).builderLeaseExpiresAt!.getTime()).toBeGreaterThan(soon.getTime())
    expect(await beatBuilds(builder, [locked!, free!])).toMatchObject([{ lost: false }, { lost: false }])
    expect((await stepOf(stepId)).builderLeaseExpiresAt!.getTime()).toBeGreaterThan(soon.getTime())
  })

  test('gets the same answer to two concurrent reports of a build, which is recorded once', async () => {
    const { builder, id } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    const answers = await Promise.all([1, 2, 3].map(() => completeForBuilder(builder, successOfBuild(claim!))))
    expect(answers).toEqual([{ recorded: true }, { recorded: true }, { recorded: true }])
    const moved = await domain.core.db.event.findMany({ where: { deploymentId: id, toStatus: 'AWAITING_DEPLOY' } })
    expect(moved).toHaveLength(1)
  })
})

describe('the lease of a build', () => {
  test('costs a try when it runs out; the next builder has the build, and the first can’t change it', async () => {
    const { builder, id, stepId } = await leftToBuilder()
    const [first] = await takeBuilds(builder, { holder: 'build-1' })
    expect(await takeBuilds(builder)).toEqual([])
    await expired(id)
    const [second] = await takeBuilds(builder, { holder: 'build-2' })
    expect(second).toMatchObject({ token: '2', tries: 2 })
    expect((await revisionOf(id)).statusMessage).toBe('Building on build-2.')
    await expect(completeForBuilder(builder, successOfBuild(first!))).rejects.toMatchObject({ code: 'CLAIM_LOST' })
    // the builder was slow: its try is returned, once
    expect(await beatBuilds(builder, [first!])).toEqual([{ claimId: first!.claimId, lost: true }])
    expect(await stepOf(stepId)).toMatchObject({ tries: 2, triesGivenBack: 1, takenBy: [second!.claimId] })
    expect(await completeForBuilder(builder, successOfBuild(second!))).toEqual({ recorded: true })
  })

  test('fails the build when it runs out three times', async () => {
    const { builder, id } = await leftToBuilder()
    for (let i = 0; i < 3; i++) {
      expect(await takeBuilds(builder)).toHaveLength(1)
      await expired(id)
    }
    expect(await takeBuilds(builder)).toEqual([])
    expect(await revisionOf(id)).toMatchObject({ status: 'BUILD_FAILED', reason: 'WORKER_LOST' })
  })

  test('that ran out is shown on the revision, and the build fails after its last try', async () => {
    const { builder, id, stepId } = await leftToBuilder()
    for (let i = 0; i < 2; i++) {
      await takeBuilds(builder)
      await expired(id, '2 minutes')
      await sweep(domain.core)
      expect((await revisionOf(id)).reason).toBe('WAITING_FOR_BUILDER')
      expect(await stepOf(stepId)).toMatchObject({ builderClaimId: null, tries: i + 1 })
    }
    await takeBuilds(builder)
    await expired(id)
    await sweep(domain.core)
    // the builder may still return
    expect((await revisionOf(id)).reason).toBe('IN_PROGRESS')
    await expired(id, '2 minutes')
    await sweep(domain.core)
    expect(await revisionOf(id)).toMatchObject({ status: 'BUILD_FAILED', reason: 'WORKER_LOST' })
  })

  test('fails the build after its last lost try, and the next rollout goes to the holder', async () => {
    const { builder, id, holder } = await leftToBuilder()
    for (let i = 0; i < 3; i++) {
      expect(await takeBuilds(builder)).toHaveLength(1)
      await expired(id)
    }
    await updateDeployment(await contextOf(id), {
      ...{ path: { deployment_id: id }, body: { source_revision_config: { repo_ref: 'next' } } },
    })
    await expired(id, '2 minutes')
    await sweep(domain.core)
    expect(await takeBuilds(builder)).toEqual([])
    const { id: revisionId } = await revisionOf(id)
    expect((await heardBy(holder)).assignment).toMatchObject({ step: { kind: 'BUILD', revision: { id: revisionId } } })
  })

  test('is renewed by a heartbeat and ended by a release, which costs no try', async () => {
    const { builder, stepId } = await leftToBuilder()
    const [claim] = await takeBuilds(builder, { lease_seconds: 1 })
    const before = (await stepOf(stepId)).builderLeaseExpiresAt!
    await beatBuilds(builder, [claim!], { lease_seconds: 600 })
    expect((await stepOf(stepId)).builderLeaseExpiresAt!.getTime()).toBeGreaterThan(before.getTime() + 500_000)
    await releaseForBuilder(builder, about(claim!))
    await expect(releaseForBuilder(builder, about(claim!))).rejects.toMatchObject({ code: 'CLAIM_LOST' })
    expect(await takeBuilds(builder)).toMatchObject([{ tries: 1, token: '2' }])
  })

  test('ends when infrastructure breaks the build, which is offered again until its last try', async () => {
    const { builder, id } = await leftToBuilder()
    for (const recorded of [false, false, true]) {
      const [claim] = await takeBuilds(builder)
      const stopped = about(claim!, { outcome: 'stopped', message: 'The engine went away.' })
      expect(await completeForBuilder(builder, stopped)).toEqual({ recorded })
    }
    expect(await revisionOf(id)).toMatchObject({ status: 'BUILD_FAILED', statusMessage: 'The engine went away.' })
  })

  const ENDS: [string, (id: string, builder: RequestContext) => Promise<unknown>][] = [
    [
      'an interrupt',
      async (id) => {
        const revision = await revisionOf(id)
        return interruptRevision(await contextOf(id), { path: { deployment_id: id, revision_id: revision.id } })
      },
    ],
    ['a DELETE', async (id) => deleteDeployment(await contextOf(id), { path: { deployment_id: id } })],
    [
      'its deadline',
      async (id) => {
        await domain.core.db
          .$executeRaw`UPDATE steps SET deadline_at = now() - interval '1 second' WHERE deployment_id = ${id}::uuid AND finished_at IS NULL`
        await sweep(domain.core)
      },
    ],
  ]
  test.each(ENDS)('ends with %s: its builder learns that it is lost, and its report does not count', async (_, end) => {
    const { builder, id, stepId } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    await end(id, builder)
    expect(await beatBuilds(builder, [claim!], { wait_seconds: 5 })).toEqual([{ claimId: claim!.claimId, lost: true }])
    const { token, ...report } = successOfBuild(claim!).body
    expect(await completeForBuilder(builder, about(claim!, report))).toEqual({ recorded: false })
    await expect(accessForBuilder(builder, about(claim!))).rejects.toMatchObject({ code: 'CLAIM_LOST' })
    expect(await stepOf(stepId)).toMatchObject({ finishedAt: expect.any(Date) })
    expect(await takeBuilds(builder)).toEqual([])
    expect((await revisionOf(id)).artifact).toBeNull()
  })

  test('continues during a newer rollout, because a running build is not skipped', async () => {
    const { builder, id, holder } = await leftToBuilder()
    const [claim] = await takeBuilds(builder)
    await updateDeployment(await contextOf(id), {
      ...{ path: { deployment_id: id }, body: { source_revision_config: { repo_ref: 'next' } } },
    })
    expect(await beatBuilds(builder, [claim!])).toEqual([{ claimId: claim!.claimId, lost: false }])
    await completeForBuilder(builder, successOfBuild(claim!))
    expect((await heardBy(holder)).assignment).toMatchObject({ step: { kind: 'DEPLOY' } })
    await domain.plane.release(holder)
    await settle(domain.plane)
  })
})

/** The context of an admin of the deployment's workspace. */
async function contextOf(id: string): Promise<RequestContext> {
  const { workspace } = await domain.core.db.deployment.findUniqueOrThrow({
    where: { id },
    select: { workspace: { select: { id: true, organizationId: true } } },
  })
  return as({ ...ctx, workspace: { ...workspace, plan: ctx.workspace.plan } }, 'admin')
}
