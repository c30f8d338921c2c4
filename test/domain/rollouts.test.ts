import { beforeAll, describe, expect, test } from 'vitest'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { getDeployment } from '../../src/domain/deployments/read.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { gitBody, gitDeployment, useDomain } from '../support/domain.ts'
import { beat, claimOne, report, settle, succeed, workOff } from '../support/holder.ts'

const domain = useDomain()
let ctx: RequestContext

const patch = (id: string) =>
  updateDeployment(ctx, { path: { deployment_id: id }, body: { source_revision_config: { repo_ref: 'main' } } })
const row = (id: string) => domain.core.db.deployment.findUniqueOrThrow({ where: { id } })
const revisions = (deploymentId: string) =>
  domain.core.db.revision.findMany({ where: { deploymentId }, orderBy: { number: 'asc' } })
const latest = async (id: string) => (await row(id)).latestRevisionId!
const statuses = async (id: string) => (await revisions(id)).map((r) => r.status)
const of = (deployment_id: string, revision_id: string) => ({ path: { deployment_id, revision_id } })

async function history(deploymentId: string) {
  const events = await domain.core.db.event.findMany({
    where: { deploymentId, type: 'revision.status' },
    orderBy: { sequence: 'asc' },
  })
  return events.map((e) => `${e.fromStatus ?? '–'} → ${e.toStatus}`)
}

describe('A deployment from request to running', () => {
  beforeAll(async () => {
    ctx = await domain.tenant()
  })

  test('a first revision passes through every status of its source, with one event each', async () => {
    const id = await gitDeployment(ctx)
    expect(await workOff(domain.plane, await claimOne(domain.plane, id))).toEqual(['PROVISION', 'BUILD', 'DEPLOY'])
    expect(await history(id)).toEqual([
      '– → CREATING',
      'CREATING → QUEUED',
      'QUEUED → AWAITING_BUILD',
      'AWAITING_BUILD → BUILDING',
      'BUILDING → AWAITING_DEPLOY',
      'AWAITING_DEPLOY → DEPLOYING',
      'DEPLOYING → DEPLOYED',
    ])
    const deployment = await row(id)
    expect(deployment.activeRevisionId).toBe(deployment.latestRevisionId)
    expect(deployment).toMatchObject({ customUrl: 'http://127.0.0.1:3100', imageVersion: '1.0.0' })
  })

  test('an image is deployed without a build', async () => {
    const { deploymentId: id } = await createDeployment(ctx, {
      body: {
        name: 'image',
        source: 'internal_container',
        source_config: {},
        source_revision_config: { image_uri: 'agent:1' },
        secrets: [],
      },
    })
    await settle(domain.plane)
    expect(await history(id)).not.toContain('QUEUED → AWAITING_BUILD')
    expect(await statuses(id)).toEqual(['DEPLOYED'])
  })

  test('a revision without an image explains its wait and is skipped by the revision that has one', async () => {
    const { deploymentId: id } = await createDeployment(ctx, {
      body: {
        name: 'late image',
        source: 'internal_container',
        source_config: {},
        source_revision_config: {},
        secrets: [],
      },
    })
    await settle(domain.plane)
    expect((await revisions(id))[0]).toMatchObject({
      status: 'CREATING',
      statusMessage: expect.stringContaining('image_uri'),
    })
    await updateDeployment(ctx, {
      path: { deployment_id: id },
      body: { source_revision_config: { image_uri: 'agent:2' } },
    })
    await settle(domain.plane)
    expect(await statuses(id)).toEqual(['SKIPPED', 'DEPLOYED'])
  })

  test('a revision without a runtime fails immediately and names the setting, or a listener if it can have one', async () => {
    const none = { ...ctx, settings: { ...ctx.settings, runtime: 'none' as const } }
    const failure = async (body: object) => {
      const { deploymentId: id } = await createDeployment(none, { body: { ...(await gitBody(ctx)), ...body } })
      const [first] = await revisions(id)
      expect(first!.status).toBe('CREATE_FAILED')
      return first!.statusMessage
    }
    const start = 'No runtime is configured: start a server with RUNTIME=process or RUNTIME=kubernetes'
    expect(await failure({})).toBe(`${start}.`)
    const image = { source_config: {}, source_revision_config: { image_uri: 'agent:1' } }
    expect(await failure({ ...image, source: 'internal_container' })).toBe(`${start}.`)
    expect(await failure({ ...image, source: 'external_container' })).toBe(
      `${start}, or create a new deployment with a listener in source_config.listener_id.`,
    )
  })
})

describe('Rollouts', () => {
  beforeAll(async () => {
    ctx = await domain.tenant()
  })

  test('a newer rollout skips waiting revisions but not a running build', async () => {
    const id = await gitDeployment(ctx)
    const claim = await claimOne(domain.plane, id)
    const build = (await succeed(domain.plane, claim, claim.step!)).assignment.step!
    expect(build.kind).toBe('BUILD')
    await patch(id)
    await patch(id)
    await patch(id)
    expect(await statuses(id)).toEqual(['BUILDING', 'SKIPPED', 'SKIPPED', 'QUEUED'])
    expect((await revisions(id))[3]!.statusMessage).toContain('Waiting for revision')
    await workOff(domain.plane, { ...claim, step: build })
    expect(await statuses(id)).toEqual(['DEPLOYED', 'SKIPPED', 'SKIPPED', 'DEPLOYED'])
    expect((await row(id)).activeRevisionId).toBe(await latest(id))
  })

  test('a hundred concurrent PATCHes make a hundred revisions in a strict order', async () => {
    const id = await gitDeployment(ctx)
    const seen = new Set<string>()
    let patching = true
    const working = (async () => {
      while (patching) {
        for (const claim of await domain.plane.claim({ holder: 'w', max: 10, leaseSeconds: 60 })) {
          await workOff(domain.plane, claim)
          await domain.plane.release(claim)
        }
      }
    })()
    await Promise.all(Array.from({ length: 100 }, () => patch(id)))
    patching = false
    await working
    await settle(domain.plane)

    const all = await revisions(id)
    expect(all.map((r) => r.number)).toEqual(Array.from({ length: 101 }, (_, i) => i + 1))
    expect(all.map((r) => r.rollout)).toEqual(all.map((r) => r.number))
    expect(all.at(-1)).toMatchObject({ status: 'DEPLOYED', id: await latest(id) })
    expect((await row(id)).activeRevisionId).toBe(await latest(id))
    const events = await domain.core.db.event.findMany({
      where: { workspaceId: ctx.workspace.id },
      orderBy: { sequence: 'asc' },
    })
    expect(events.map((e) => Number(e.sequence))).toEqual(events.map((_, i) => i + 1))

    // replays the events: at most one revision has the turn and one waits, and rollouts become active in order
    const now = new Map<string, string>()
    const deployed: number[] = []
    for (const event of events.filter((e) => e.deploymentId === id && e.type === 'revision.status')) {
      now.set(event.revisionId!, event.toStatus!)
      if (event.toStatus === 'DEPLOYED') deployed.push(all.find((r) => r.id === event.revisionId)!.rollout)
      const inTurn = [...now].filter(([, s]) =>
        ['AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING'].includes(s),
      )
      for (const [revision] of inTurn) seen.add(revision)
      expect(inTurn.length).toBeLessThanOrEqual(1)
    }
    expect(deployed).toEqual([...deployed].sort((a, b) => a - b))
    expect(all.filter((r) => !['DEPLOYED', 'SKIPPED'].includes(r.status))).toEqual([])
  }, 60_000)

  test('a redeploy rolls back to the same revision and artifact with the next attempt, and the latest revision stays', async () => {
    const id = await gitDeployment(ctx)
    await settle(domain.plane)
    const first = await latest(id)
    await patch(id)
    await settle(domain.plane)
    const second = await latest(id)
    expect(await redeployRevision(ctx, of(id, first))).toEqual({ deploymentId: id, revisionId: first })
    await settle(domain.plane)
    expect(await row(id)).toMatchObject({ activeRevisionId: first, latestRevisionId: second })
    expect((await revisions(id))[0]).toMatchObject({ status: 'DEPLOYED', attempt: 2, rollout: 3 })
    expect((await history(id)).slice(-4)).toEqual([
      'DEPLOYED → QUEUED',
      'QUEUED → AWAITING_DEPLOY',
      'AWAITING_DEPLOY → DEPLOYING',
      'DEPLOYING → DEPLOYED',
    ])
  })

  test('the last five deployed and the active one keep their artifacts; an older one is built again from its commit', async () => {
    const id = await gitDeployment(ctx)
    await settle(domain.plane)
    const first = await latest(id)
    for (let i = 0; i < 5; i++) {
      await patch(id)
      await settle(domain.plane)
    }
    expect((await revisions(id)).map((r) => r.artifact !== null)).toEqual([false, true, true, true, true, true])
    await redeployRevision(ctx, of(id, first))
    const claim = await claimOne(domain.plane, id)
    expect(claim.step).toMatchObject({ kind: 'BUILD', revision: { repoCommitSha: 'c0ffee'.padEnd(40, '0') } })
    expect(claim.keepArtifacts).toHaveLength(5)
    await workOff(domain.plane, claim)
    await domain.plane.release(claim)
    expect((await row(id)).activeRevisionId).toBe(first)
  })
})

describe('Interrupt', () => {
  beforeAll(async () => {
    ctx = await domain.tenant()
  })

  test('takes effect immediately, and the next step starts only when the worker has stopped', async () => {
    const id = await gitDeployment(ctx)
    const claim = await claimOne(domain.plane, id)
    const { assignment } = await succeed(domain.plane, claim, claim.step!)
    const first = await latest(id)
    await patch(id)
    await interruptRevision(ctx, of(id, first))
    expect(await statuses(id)).toEqual(['INTERRUPTED', 'AWAITING_BUILD'])

    const claimed = { claimId: claim.claimId, token: claim.token, generation: assignment.generation }
    const news = await beat(domain.plane, claimed)
    expect(news.assignment).toMatchObject({ stop: true, step: null })
    const late = await succeed(domain.plane, claim, assignment.step!)
    expect(late.recorded).toBe(false)
    expect(late.assignment.step).toMatchObject({ kind: 'BUILD', revision: { id: await latest(id) } })
    await workOff(domain.plane, { ...claim, step: late.assignment.step })
    expect(await statuses(id)).toEqual(['INTERRUPTED', 'DEPLOYED'])
    await domain.plane.release(claim)
  })

  test('leaves the active revision serving and is refused for an ended revision', async () => {
    const id = await gitDeployment(ctx)
    await settle(domain.plane)
    const first = await latest(id)
    await patch(id)
    await interruptRevision(ctx, of(id, await latest(id)))
    expect((await row(id)).activeRevisionId).toBe(first)
    await expect(interruptRevision(ctx, of(id, first))).rejects.toMatchObject({ code: 'CONFLICT' })
  })
})

describe('Delete', () => {
  beforeAll(async () => {
    ctx = await domain.tenant()
  })

  test('frees the name immediately, interrupts open revisions, tears down, and succeeds twice', async () => {
    const body = await gitBody(ctx, 'again')
    const { deploymentId: id } = await createDeployment(ctx, { body })
    const claim = await claimOne(domain.plane, id)
    await deleteDeployment(ctx, { path: { deployment_id: id } })
    await deleteDeployment(ctx, { path: { deployment_id: id } })
    expect(await statuses(id)).toEqual(['INTERRUPTED'])
    await expect(patch(id)).rejects.toMatchObject({ code: 'CONFLICT' })
    const { deploymentId: again } = await createDeployment(ctx, { body })
    expect((await row(again)).tracingProjectId).toBe((await row(id)).tracingProjectId)

    const { assignment } = await report(domain.plane, claim, claim.step!, 'stopped')
    expect(assignment).toMatchObject({ run: null, step: { kind: 'TEARDOWN' } })
    await succeed(domain.plane, claim, assignment.step!)
    expect((await row(id)).tornDownAt).not.toBeNull()
    await expect(getDeployment(ctx, { path: { deployment_id: id } })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await deleteDeployment(ctx, { path: { deployment_id: id } })
  })

  test('a failed teardown shows its reason and is retried later', async () => {
    const id = await gitDeployment(ctx)
    await settle(domain.plane)
    await deleteDeployment(ctx, { path: { deployment_id: id } })
    const claim = await claimOne(domain.plane, id)
    expect(claim.deployment.id).toBe(id)
    expect(await row(id)).toMatchObject({
      reason: 'IN_PROGRESS',
      statusMessage: 'Open requests and streams may end first; then everything is removed.',
    })
    const failed = await report(domain.plane, claim, claim.step!, 'failed', { message: 'disk on fire' })
    expect(failed.assignment.step).toBeNull()
    expect((await row(id)).statusMessage).toContain('disk on fire')
    await domain.core.db
      .$executeRaw`UPDATE steps SET not_before = now() - interval '1 second' WHERE deployment_id = ${id}::uuid AND finished_at IS NULL`
    const news = await beat(domain.plane, claim, { generation: failed.assignment.generation })
    expect(news.assignment?.step?.kind).toBe('TEARDOWN')
    expect((await row(id)).statusMessage).toContain('disk on fire')
  })

  test('force drops a deployment whose runtime is gone', async () => {
    const id = await gitDeployment(ctx)
    await claimOne(domain.plane, id)
    await deleteDeployment(ctx, {
      path: { deployment_id: id },
      query: { force: 'true', delete_tracing_project: 'true' },
    })
    expect(await row(id)).toMatchObject({ tornDownAt: expect.any(Date), tracingProjectId: null })
    expect(await teardownActor(id)).toBe(ctx.actor.subject)
  })

  test.each([undefined, 'true'])('a deployment without a taken step needs no teardown; force: %s', async (force) => {
    const id = await gitDeployment(ctx)
    await deleteDeployment(ctx, { path: { deployment_id: id }, query: { force } })
    expect((await row(id)).tornDownAt).not.toBeNull()
    expect(await teardownActor(id)).toBeNull()
  })

  /** The actor that gave up the runtime; null: the teardown was complete. */
  async function teardownActor(deploymentId: string): Promise<string | null> {
    const where = { deploymentId, type: 'deployment.torn_down' } as const
    return (await domain.core.db.event.findFirstOrThrow({ where })).actor
  }
})
