/** The sentence that says why the newest rollout is not live, and the last change of a deployment. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { WHY_NOT_LIVE_FIELDS, whyNotLive } from '../../src/domain/deployment-status/condition.ts'
import { healthOf, whyNotServing } from '../../src/domain/deployment-status/serving.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { createRevision, updateDeployment } from '../../src/domain/deployments/update.ts'
import { redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { setDeploymentTags } from '../../src/domain/tags.ts'
import { lastChangeOf } from '../../src/domain/values/deployment-change.ts'
import type { Prisma } from '../../src/generated/prisma/client.ts'
import { gitBody, useDomain, useTenant } from '../support/domain.ts'

const domain = useDomain()
const ctx = useTenant(domain)

async function made(): Promise<{ id: string; revisionId: string }> {
  const { deploymentId: id, revisionId } = await createDeployment(ctx, { body: await gitBody(ctx) })
  return { id, revisionId: revisionId! }
}
const row = (id: string) => ctx.db.deployment.findUniqueOrThrow({ where: { id }, select: WHY_NOT_LIVE_FIELDS })
const why = async (id: string) => whyNotLive(await row(id), ctx.clock())
const change = async (id: string) => lastChangeOf(await row(id))
const path = (id: string) => ({ path: { deployment_id: id } })
const set = (id: string, data: Prisma.DeploymentUncheckedUpdateInput) =>
  ctx.db.deployment.update({ where: { id }, data })
async function ends(
  id: string,
  revisionId: string,
  status: 'DEPLOYED' | 'BUILD_FAILED' | 'INTERRUPTED',
  statusMessage: string | null = null,
) {
  await ctx.db.step.deleteMany({ where: { revisionId } })
  await ctx.db.revision.update({ where: { id: revisionId }, data: { status, statusMessage } })
  if (status === 'DEPLOYED') await set(id, { activeRevisionId: revisionId, provisionedAt: new Date() })
}
const serves = (id: string) =>
  set(id, {
    claimId: randomUUID(),
    leaseHolder: 'worker',
    leaseExpiresAt: new Date(Date.now() + 60_000),
    health: { ready: 1, desired: 1, message: null, observedAt: new Date().toISOString() },
  })
const revise = async (id: string) => (await createRevision(ctx, { ...path(id), body: {} })).revisionId!

describe('whyNotLive', () => {
  test('is the wait of the first revision, and then only the cause of its failure', async () => {
    const { id, revisionId } = await made()
    expect(await why(id)).toBe('Revision 1 is being prepared; nothing serves yet.')
    await ends(id, revisionId, 'BUILD_FAILED', 'npm ci failed with exit code 1: npm error 404.\nnpm error 404')
    expect(await why(id)).toBe('npm ci failed with exit code 1: npm error 404.')
  })

  test('is null while the newest rollout serves', async () => {
    const { id, revisionId } = await made()
    await ends(id, revisionId, 'DEPLOYED')
    await serves(id)
    expect(await why(id)).toBeNull()
  })

  test('names the older revision that serves, until a rollback makes it the newest rollout', async () => {
    const { id, revisionId } = await made()
    await ends(id, revisionId, 'DEPLOYED')
    await serves(id)
    const second = await revise(id)
    expect(await why(id)).toMatch(/^(Revision 2 .*; revision 1 serves|Waiting for .*)\.$/)
    await ends(id, second, 'BUILD_FAILED', 'It does not compile.')
    expect(await why(id)).toBe('It does not compile.')
    await redeployRevision(ctx, { path: { deployment_id: id, revision_id: revisionId } })
    expect(await why(id)).toBeNull()
  })

  test('names the redeployed revision while another one serves', async () => {
    const { id, revisionId } = await made()
    await ends(id, revisionId, 'DEPLOYED')
    await ends(id, await revise(id), 'DEPLOYED')
    await serves(id)
    expect(await why(id)).toBeNull()
    await redeployRevision(ctx, { path: { deployment_id: id, revision_id: revisionId } })
    expect(await why(id)).toBe('Redeployed revision 1 does not serve yet: revision 2 serves.')
    await ends(id, revisionId, 'DEPLOYED')
    expect(await why(id)).toBeNull()
  })

  test('is the problem of the active revision, or that its state is unknown', async () => {
    const { id, revisionId } = await made()
    await ends(id, revisionId, 'DEPLOYED')
    await serves(id)
    const health = {
      ready: 0,
      desired: 1,
      message: 'exited with code 1\nmore',
      reason: 'CRASHED',
      observedAt: new Date().toISOString(),
    }
    await set(id, { health })
    expect(await why(id)).toBe('exited with code 1')
    await set(id, { leaseExpiresAt: new Date(0) })
    expect(await why(id)).toMatch(/^No worker reports on it at the moment/)
  })

  test('says that the deployment is being deleted', async () => {
    const { id } = await made()
    await ctx.db.step.updateMany({ where: { deploymentId: id }, data: { firstTakenAt: new Date() } })
    await deleteDeployment(ctx, path(id))
    expect(await why(id)).toMatch(/^It is being deleted/)
  })
})

describe('the last change', () => {
  test('is the last write with its author and time', async () => {
    const { id, revisionId } = await made()
    const actor = { kind: 'api_key', id: ctx.actor.subject, name: ctx.actor.name }
    expect(await change(id)).toMatchObject({ what: 'CREATED', actor })
    await setDeploymentTags(ctx, { ...path(id), body: { tags: [{ key: 'a', value: 'b' }] } })
    expect(await change(id)).toMatchObject({ what: 'TAGGED', changed: [] })
    await updateDeployment(ctx, { ...path(id), body: { source_config: { build_on_push: true } } })
    expect(await change(id)).toMatchObject({ what: 'UPDATED', changed: ['build_on_push'], actor })
    await revise(id)
    expect(await change(id)).toMatchObject({ what: 'UPDATED', changed: [] })
    await ctx.db.step.deleteMany({ where: { deploymentId: id } })
    await ctx.db.revision.updateMany({ where: { deploymentId: id }, data: { status: 'BUILD_FAILED' } })
    await redeployRevision(ctx, { path: { deployment_id: id, revision_id: revisionId } })
    expect(await change(id)).toMatchObject({ what: 'REDEPLOYED', revision: { id: revisionId, number: 1 } })
    const { updatedAt } = await row(id)
    expect((await change(id))!.at).toEqual(updatedAt)
    await ctx.db.step.updateMany({ where: { deploymentId: id }, data: { firstTakenAt: new Date() } })
    await deleteDeployment(ctx, path(id))
    expect(await change(id)).toMatchObject({ what: 'DELETED', actor })
  })

  test('is null for changes by older servers and for unknown kinds of changes', async () => {
    const { id } = await made()
    await set(id, { updatedAt: new Date(Date.now() + 5_000), editVersion: 2 })
    expect(await change(id)).toBeNull()
    const stored = {
      what: 'FROBNICATED',
      actor: { kind: 'system', id: null, name: null },
      changed: [],
      at: '2999-01-01T00:00:00Z',
    }
    await set(id, { lastChange: stored })
    expect(await change(id)).toBeNull()
    await set(id, { lastChange: { ...stored, what: 'UPDATED' } })
    expect(await change(id)).toMatchObject({ what: 'UPDATED' })
  })
})

const now = new Date()
const ago = (ms: number) => new Date(now.getTime() - ms)
const taken = (lastSeenAt: Date, status: 'CREATING' | 'DEPLOY_FAILED' = 'CREATING') => ({
  deletedAt: null,
  activeRevisionId: null,
  idle: false,
  leaseExpiresAt: ago(60_000),
  health: null,
  resourceSpec: null,
  listener: { lastSeenAt, createdAt: ago(900_000) },
  latestRevision: {
    number: 1,
    status,
    statusSince: ago(500_000),
    reason: null,
    reasonSince: null,
    statusMessage: null,
  },
})

test('a revision that waits for a silent listener has the reason LISTENER_SILENT, not IN_PROGRESS', () => {
  const why = { reason: 'LISTENER_SILENT', message: expect.stringContaining('its listener is silent') }
  expect(whyNotServing(taken(ago(100_000)), now)).toEqual({ ...why, since: ago(100_000) })
  expect(healthOf(taken(ago(100_000)), now)).toMatchObject({ ready: 0, ...why })
  expect(whyNotServing(taken(ago(10_000)), now)).toMatchObject({ reason: 'IN_PROGRESS' })
  expect(whyNotServing(taken(ago(100_000), 'DEPLOY_FAILED'), now)).toMatchObject({ reason: 'NOT_READY' })
})
