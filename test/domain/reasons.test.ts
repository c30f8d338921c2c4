/** Tests reasons: each message has a machine-readable reason wherever it is shown. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { claim } from '../../src/domain/claims/claim.ts'
import { completeForListener, heartbeatOfListener } from '../../src/domain/claims/control-plane.ts'
import { conditionOf } from '../../src/domain/deployment-status/condition.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { getDeployment } from '../../src/domain/deployments/read.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { knownReason, REASON_WORDS } from '../../src/domain/errors/reasons.ts'
import { interruptRevision } from '../../src/domain/rollouts/redeploy.ts'
import { sweep } from '../../src/domain/rollouts/sweep.ts'
import { explain } from '../../src/domain/values/explanation.ts'
import { currentMessageOf } from '../../src/domain/values/lifecycle.ts'
import { countStatements } from '../support/database.ts'
import { as, gitDeployment, useDomain, useTenant } from '../support/domain.ts'
import { claimOne, succeed } from '../support/holder.ts'

const domain = useDomain()
const ctx = useTenant(domain)

const latest = async (id: string) =>
  (await getDeployment(ctx, { path: { deployment_id: id } })).latestRevision as NonNullable<
    Awaited<ReturnType<typeof getDeployment>>['latestRevision']
  >
const eventsOf = (revisionId: string) =>
  domain.core.db.event.findMany({ where: { revisionId }, orderBy: { sequence: 'asc' } })

async function listenerNamed(computeId: string, lastSeenAt: Date | null = new Date()) {
  return domain.core.db.listener.create({
    data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId, k8sNamespaces: ['agents'], lastSeenAt },
  })
}
async function deployOn(listenerId: string): Promise<string> {
  const { deploymentId } = await createDeployment(ctx, {
    body: {
      name: `on-${randomUUID()}`,
      source: 'external_container',
      source_config: { listener_id: listenerId, listener_config: { k8s_namespace: 'agents' } },
      source_revision_config: { image_uri: 'registry.example.com/agent:1' },
      secrets: [],
    },
  })
  return deploymentId
}

/** Creates a leased, provisioned deployment whose BUILD is running. */
async function building() {
  const id = await gitDeployment(ctx)
  const held = await claimOne(domain.plane, id)
  const { assignment } = await succeed(domain.plane, held, held.step!)
  return { id, held: { claimId: held.claimId, token: held.token }, step: assignment.step!, claim: held }
}

/** Makes the open step look untaken for 11 s. */
const untaken = (id: string) =>
  domain.core.db
    .$executeRaw`UPDATE steps SET created_at = now() - interval '11 seconds' WHERE deployment_id = ${id}::uuid AND finished_at IS NULL`

test('reasons are unique words in upper snake case, and other words are unknown', () => {
  expect(new Set(REASON_WORDS).size).toBe(REASON_WORDS.length)
  for (const word of REASON_WORDS) expect(word).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
  expect(knownReason('toString', null)).toBeNull()
  expect(knownReason('CRASHED', null)).toBe('CRASHED')
})

test('a message depends only on its reason and facts', () => {
  const listener = { id: 'L', computeId: 'prod', lastSeenAt: new Date('2026-01-02T03:04:05.678Z'), silent: true }
  expect(explain('LISTENER_SILENT', { kind: 'BUILD', listener }).message).toBe(
    'Waiting for listener prod, which has not called since 2026-01-02T03:04:05Z, to build it.',
  )
  expect(explain('DEADLINE', { kind: 'DEPLOY', minutes: 10 }).message).toBe(
    'The deploy exceeded its deadline of 10 min. Redeploy it, or raise DEPLOY_DEADLINE_MINUTES.',
  )
})

describe('a reason that the rules set is in the revision and in the event', () => {
  test('for a waiting, superseded, interrupted and deleted revision', async () => {
    const id = await gitDeployment(ctx)
    const path = { deployment_id: id }
    const first = await latest(id)
    // a worker may take the step any moment, so the message names no worker yet
    expect(currentMessageOf(first)).toMatchObject({ reason: 'IN_PROGRESS', statusMessage: 'Preparing.' })
    await untaken(id)
    await sweep(domain.core)
    expect(await latest(id)).toMatchObject({
      reason: 'WAITING_FOR_WORKER',
      statusMessage: 'Waiting for a built-in worker (a server with WORKER=on and a RUNTIME) to prepare the deployment.',
    })
    await updateDeployment(ctx, { path, body: { source_revision_config: { repo_ref: 'next' } } })
    const superseded = await domain.core.db.revision.findUniqueOrThrow({ where: { id: first.id } })
    expect(superseded).toMatchObject({ status: 'SKIPPED', reason: 'SUPERSEDED' })
    const second = await latest(id)
    await interruptRevision(ctx, { path: { ...path, revision_id: second.id } })
    expect(await latest(id)).toMatchObject({ status: 'INTERRUPTED', reason: 'INTERRUPTED_BY_PERSON' })
    expect((await eventsOf(first.id)).map(({ toStatus, reason }) => [toStatus, reason])).toEqual([
      ['CREATING', null],
      ['SKIPPED', 'SUPERSEDED'],
    ])
    const other = await gitDeployment(ctx)
    await domain.core.db.step.updateMany({ where: { deploymentId: other }, data: { firstTakenAt: new Date() } })
    await deleteDeployment(ctx, { path: { deployment_id: other } })
    expect(await latest(other)).toMatchObject({ status: 'INTERRUPTED', reason: 'DEPLOYMENT_DELETED' })
    const said = async () => conditionOf(await getDeployment(ctx, { path: { deployment_id: other } }), new Date())
    expect(await said()).toMatchObject({ reason: 'IN_PROGRESS', message: expect.stringMatching(/^Deleting: /) })
    await untaken(other)
    await sweep(domain.core)
    expect(await said()).toMatchObject({ reason: 'WAITING_FOR_WORKER', since: expect.any(Date) })
  })
})

describe('the reason that a worker reports for a failure', () => {
  const failed = async (said: object) => {
    const { id, held, step } = await building()
    await domain.plane.complete({ ...held, stepId: step.id, outcome: 'failed', ...said })
    const { reason, statusMessage } = await latest(id)
    const { reason: ofStep } = await domain.core.db.step.findUniqueOrThrow({ where: { id: step.id } })
    expect(ofStep).toBe(reason)
    return [reason, statusMessage]
  }

  test('is stored with its message, and defaults to the generic reason of the step', async () => {
    expect(await failed({ reason: 'INSTALL_FAILED', message: 'npm ci failed' })).toEqual([
      'INSTALL_FAILED',
      'npm ci failed',
    ])
    expect(await failed({ message: 'no idea' })).toEqual(['BUILD_FAILED', 'no idea'])
  })

  test('counts as the generic reason of the step if only newer listeners know it', async () => {
    const { id: listenerId } = await listenerNamed(`newer-${randomUUID()}`)
    const id = await deployOn(listenerId)
    const scope = { listenerId }
    const [held] = await claim(domain.core, scope, { holder: 'x', max: 1, leaseSeconds: 60 })
    const caller = as(ctx, 'listener')
    const call = { ...caller, actor: { ...caller.actor, listenerId } }
    const path = { listener_id: listenerId, claim_id: held!.claimId }
    const body = { token: held!.token, step_id: held!.step!.id, outcome: 'failed', reason: 'MOON_FULL', message: 'why' }
    await completeForListener(call, { path, body })
    expect(await latest(id)).toMatchObject({
      status: 'CREATE_FAILED',
      reason: 'PROVISION_FAILED',
      statusMessage: 'why',
    })
  })
})

describe('the progress that a worker reports for a step', () => {
  const progress = { reason: 'WAITING_FOR_HEALTH', message: 'GET /ok is not answered yet' } as const

  test('takes one statement with the heartbeat, without event or new updated_at, and only for news', async () => {
    const { id, held } = await building()
    const before = await latest(id)
    const events = (await eventsOf(before.id)).length
    const generation = (await domain.core.db.deployment.findUniqueOrThrow({ where: { id } })).generation
    const beat = (told?: typeof progress | null) =>
      domain.plane.heartbeat({
        leaseSeconds: 60,
        claims: [{ ...held, generation, ...(told === undefined ? {} : { progress: told }) }],
      })
    expect(await countStatements(domain.database, () => beat(progress))).toHaveLength(1)
    const after = await latest(id)
    expect(after).toMatchObject({
      status: 'BUILDING',
      reason: 'WAITING_FOR_HEALTH',
      statusMessage: progress.message,
      updatedAt: before.updatedAt,
    })
    expect((await eventsOf(before.id)).length).toBe(events)
    await beat({ ...progress, message: 'it listens on 3000' } as never)
    await beat()
    expect(await latest(id)).toMatchObject({ statusMessage: 'it listens on 3000', reasonSince: after.reasonSince })
    await beat(null)
    expect(await latest(id)).toMatchObject({ reason: null, reasonSince: null, statusMessage: null })
  })

  test('is ignored from a holder without a lease, and for an ended revision', async () => {
    const { id, held, step } = await building()
    const stale = { ...held, token: String(BigInt(held.token) - 1n) }
    await domain.plane.heartbeat({ leaseSeconds: 60, claims: [{ ...stale, progress }] })
    expect(await latest(id)).toMatchObject({ reason: null })
    await domain.plane.complete({ ...held, stepId: step.id, outcome: 'failed', reason: 'CRASHED', message: 'gone' })
    await domain.plane.heartbeat({ leaseSeconds: 60, claims: [{ ...held, progress }] })
    expect(await latest(id)).toMatchObject({ reason: 'CRASHED', statusMessage: 'gone' })
  })

  test('may come from listeners, as plain text from older ones, and also during PROVISION', async () => {
    const { id: listenerId } = await listenerNamed(`beats-${randomUUID()}`)
    const id = await deployOn(listenerId)
    const [held] = await claim(domain.core, { listenerId }, { holder: 'x', max: 1, leaseSeconds: 60 })
    const caller = as(ctx, 'listener')
    const call = { ...caller, actor: { ...caller.actor, listenerId } }
    const beat = (told: unknown) =>
      heartbeatOfListener(call, {
        path: { listener_id: listenerId },
        body: {
          claims: [{ claim_id: held!.claimId, token: held!.token, generation: held!.generation, progress: told }],
        },
      })
    await beat({ reason: 'STORAGE_UNAVAILABLE', message: 'no volume' })
    expect(await latest(id)).toMatchObject({
      status: 'CREATING',
      reason: 'STORAGE_UNAVAILABLE',
      statusMessage: 'no volume',
    })
    await beat('an older one')
    expect(await latest(id)).toMatchObject({ reason: 'IN_PROGRESS', statusMessage: 'an older one' })
    await beat({ reason: 'MOON_FULL', message: 'a newer one' })
    expect(await latest(id)).toMatchObject({ reason: 'IN_PROGRESS', statusMessage: 'a newer one' })
  })
})

describe('a sweep', () => {
  test('takes no extra statement for a listener whose name looks like a message', async () => {
    const statements = async () => (await countStatements(domain.database, () => sweep(domain.core))).length
    await sweep(domain.core)
    const idle = await statements()
    const { id: listenerId } = await listenerNamed('x heard from, to y')
    for (let i = 0; i < 3; i++) await deployOn(listenerId)
    expect(await statements()).toBe(idle)
  })

  test('records once that a listener became silent, and once that it called again', async () => {
    const { id: listenerId } = await listenerNamed(`silent-${randomUUID()}`)
    const id = await deployOn(listenerId)
    expect(await latest(id)).toMatchObject({ reason: 'WAITING_FOR_LISTENER' })
    const heard = (lastSeenAt: Date) =>
      domain.core.db.listener.update({ where: { id: listenerId }, data: { lastSeenAt } })
    await heard(new Date(Date.now() - 100_000))
    await sweep(domain.core)
    expect(await latest(id)).toMatchObject({
      reason: 'LISTENER_SILENT',
      statusMessage: expect.stringContaining('which has not called since'),
    })
    await heard(new Date())
    await sweep(domain.core)
    expect(await latest(id)).toMatchObject({ reason: 'WAITING_FOR_LISTENER' })
  })

  test('adds a reason to a revision that an older server left without one', async () => {
    const id = await gitDeployment(ctx)
    await domain.core.db.revision.updateMany({ where: { deploymentId: id }, data: { reason: null, reasonSince: null } })
    await untaken(id)
    await sweep(domain.core)
    expect(await latest(id)).toMatchObject({ reason: 'WAITING_FOR_WORKER', reasonSince: expect.any(Date) })
  })

  test('adds a reason to a failed teardown that an older server left without one', async () => {
    const id = await gitDeployment(ctx)
    await claimOne(domain.plane, id)
    await deleteDeployment(ctx, { path: { deployment_id: id } })
    await domain.core.db.step.create({
      data: { deploymentId: id, kind: 'TEARDOWN', firstTakenAt: new Date(), finishedAt: new Date(), outcome: 'failed' },
    })
    const where = { id }
    const data = { reason: null, reasonSince: null, statusMessage: 'Teardown failed and will be tried again: it burns' }
    await domain.core.db.deployment.update({ where, data })
    await untaken(id)
    await sweep(domain.core)
    const now = await domain.core.db.deployment.findUniqueOrThrow({ where })
    expect(now).toMatchObject({ reason: 'WAITING_FOR_WORKER', reasonSince: expect.any(Date) })
  })
})
