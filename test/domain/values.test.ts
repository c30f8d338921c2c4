/**
 * Model-checks the transition table: random sequences of actions by people, workers, builders, stale holders and time
 * on a real database. After each action the invariants of docs/deployments.md#revisions-and-rollouts must hold.
 */
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { completeForBuilder, releaseForBuilder } from '../../src/domain/builders/control-plane.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { DomainError } from '../../src/domain/errors/errors.ts'
import type { BuilderClaim } from '../../src/domain/protocol/builders.ts'
import type { Assignment, Claim, CompleteRequest } from '../../src/domain/protocol/protocol.ts'
import { lockById } from '../../src/domain/repositories/locks.ts'
import { plan } from '../../src/domain/rollouts/plan.ts'
import { readSituation } from '../../src/domain/rollouts/reconcile.ts'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { sweep } from '../../src/domain/rollouts/sweep.ts'
import { type RequestContext, transaction } from '../../src/domain/transaction/context.ts'
import { canMove, isInTurn, isTerminal } from '../../src/domain/values/lifecycle.ts'
import type { Revision, Step } from '../../src/generated/prisma/client.ts'
import { about, beatBuilds, builderOf, successOfBuild, takeBuilds } from '../support/builders.ts'
import { gitDeployment, useDomain, useTenant } from '../support/domain.ts'
import { settle, successOf } from '../support/holder.ts'
import { standInRegistry } from '../support/registry.ts'

const domain = useDomain({ core: () => ({ registry: standInRegistry() }) })
const ctx = useTenant(domain)
let builder: RequestContext
beforeAll(async () => {
  builder = await builderOf(ctx)
})

const ACTIONS = [
  'patch',
  'patch',
  'redeploy',
  'interrupt',
  'delete',
  'claim',
  'claim',
  'beat',
  'succeed',
  'succeed',
  'succeed',
  'fail',
  'stopped',
  'release',
  'lose the worker',
  'stale worker completes',
  'stale worker beats',
  'stale worker releases',
  'leave the build to builders',
  'leave the build to builders',
  'a builder claims',
  'a builder claims',
  'its build succeeds',
  'its build fails',
  'its build is stopped',
  'its build is released',
  'lose the builder',
  'builders go silent',
  'stale builder completes',
  'stale builder beats',
  'the deadline passes',
  'a day passes',
  'sweep',
] as const
type Action = (typeof ACTIONS)[number]

const isOfBuilder = (action: Action) => action.startsWith('its build')

/** The step after a call of its holder or builder that lost the lease: that try does not count. */
const withTryBack = (step: Step, claimId: string): Step =>
  step.finishedAt === null && step.takenBy.includes(claimId)
    ? { ...step, triesGivenBack: step.triesGivenBack + 1, takenBy: step.takenBy.filter((other) => other !== claimId) }
    : step

const withoutCommit = (revision: Revision) => ({ ...revision, repoCommitSha: null, updatedAt: null })

/** One run: a deployment with its current and former lease holders and builders. */
class World {
  readonly id: string
  held: { claim: Claim; assignment: Assignment } | null = null
  stale: { claim: Claim; assignment: Assignment }[] = []
  build: BuilderClaim | null = null
  staleBuilds: BuilderClaim[] = []
  constructor(id: string) {
    this.id = id
  }

  async act(action: Action, pick: number): Promise<void> {
    try {
      await this.#do(action, pick)
    } catch (error) {
      // a DomainError is a valid answer; other errors are bugs
      if (!(error instanceof DomainError)) throw error
      if (error.code === 'CLAIM_LOST' && isOfBuilder(action)) this.#buildOver()
      else if (error.code === 'CLAIM_LOST') this.#lost()
    }
  }

  async #do(action: Action, pick: number): Promise<unknown> {
    const path = { deployment_id: this.id, revision_id: await this.#someRevision(pick) }
    switch (action) {
      case 'patch':
        return updateDeployment(ctx, { path, body: { source_revision_config: { repo_ref: `branch-${pick}` } } })
      case 'redeploy':
        return redeployRevision(ctx, { path })
      case 'interrupt':
        return interruptRevision(ctx, { path })
      case 'delete':
        // rarely, because it ends the run
        return pick % 5 === 0 ? deleteDeployment(ctx, { path }) : undefined
      case 'claim':
        return this.#claim(pick)
      case 'beat':
        return this.held && this.#beat(this.held)
      case 'succeed':
        return (
          this.held?.assignment.step &&
          this.#complete(this.held, { outcome: 'succeeded', ...successOf(this.held.assignment.step) })
        )
      case 'fail':
        return this.held?.assignment.step && this.#complete(this.held, { outcome: 'failed', message: 'it failed' })
      case 'stopped':
        return this.held?.assignment.step && this.#complete(this.held, { outcome: 'stopped' })
      case 'release':
        if (this.held) await domain.plane.release(this.held.claim)
        return this.#lost()
      case 'lose the worker':
        await this
          .#sql`UPDATE deployments SET lease_expires_at = now() - interval '1 second' WHERE id = ${this.id}::uuid AND claim_id IS NOT NULL`
        return this.#lost()
      case 'stale worker completes':
        return this.#stale(pick, (old) =>
          this.#complete(old, { outcome: pick % 2 ? 'succeeded' : 'failed', artifact: 'stale', url: 'http://stale' }),
        )
      case 'stale worker beats':
        return this.#stale(pick, (old) => this.#beat(old))
      case 'stale worker releases':
        return this.#stale(pick, (old) => domain.plane.release(old.claim))
      case 'leave the build to builders':
        if (this.held?.assignment.step?.kind !== 'BUILD') return
        await beatBuilds(builder, [])
        return this.#complete(this.held, { outcome: 'failed', reason: 'NO_BUILDER', elsewhere: true })
      case 'a builder claims':
        return this.#claimBuild(pick)
      case 'its build succeeds':
        return this.build && this.#completeBuild(this.build, successOfBuild(this.build))
      case 'its build fails':
        return this.build && this.#completeBuild(this.build, about(this.build, { outcome: 'failed' }))
      case 'its build is stopped':
        return this.build && this.#completeBuild(this.build, about(this.build, { outcome: 'stopped', message: 'away' }))
      case 'its build is released':
        if (this.build) await releaseForBuilder(builder, about(this.build))
        return this.#buildOver()
      case 'lose the builder':
        await this
          .#sql`UPDATE steps SET builder_lease_expires_at = now() - interval '2 minutes' WHERE deployment_id = ${this.id}::uuid AND builder_lease_expires_at IS NOT NULL`
        return this.#buildOver()
      case 'builders go silent':
        await this.#sql`UPDATE api_keys SET builder_seen_at = now() - interval '2 minutes' WHERE role = 'builder'`
        return pick % 2 ? sweep(domain.core) : undefined
      case 'stale builder completes':
        return this.#staleBuild(pick, (old) => completeForBuilder(builder, successOfBuild(old)))
      case 'stale builder beats':
        return this.#staleBuild(pick, (old) => beatBuilds(builder, [old]))
      case 'the deadline passes':
        await this
          .#sql`UPDATE steps SET deadline_at = now() - interval '1 second' WHERE deployment_id = ${this.id}::uuid AND deadline_at IS NOT NULL AND finished_at IS NULL`
        return pick % 2 ? sweep(domain.core) : undefined
      case 'a day passes':
        await this
          .#sql`UPDATE steps SET created_at = created_at - interval '25 hours', not_before = CASE WHEN offered_at IS NOT NULL THEN now() - interval '1 second' END WHERE deployment_id = ${this.id}::uuid AND finished_at IS NULL`
        await this
          .#sql`UPDATE revisions SET status_since = status_since - interval '25 hours' WHERE deployment_id = ${this.id}::uuid`
        return pick % 2 ? sweep(domain.core) : undefined
      case 'sweep':
        return sweep(domain.core)
    }
  }

  async #claim(pick: number): Promise<void> {
    if (this.held) return
    const claims = await domain.plane.claim({ holder: `model-${pick % 3}`, max: 100, leaseSeconds: 600 })
    const mine = claims.find((claim) => claim.deployment.id === this.id)
    if (mine) this.held = { claim: mine, assignment: mine }
  }

  async #beat(who: NonNullable<World['held']>): Promise<void> {
    const { claim, assignment } = who
    const [answer] = await domain.plane.heartbeat({
      leaseSeconds: 600,
      claims: [{ claimId: claim.claimId, token: claim.token, generation: assignment.generation }],
    })
    if (answer!.lost && who === this.held) this.#lost()
    if (!answer!.assignment) return
    // the worker must stop the withdrawn step, so it stays current
    who.assignment = answer!.assignment.stop ? { ...answer!.assignment, step: assignment.step } : answer!.assignment
  }

  async #complete(
    who: NonNullable<World['held']>,
    how: Pick<CompleteRequest, 'outcome'> & Partial<CompleteRequest>,
  ): Promise<void> {
    const { claim, assignment } = who
    const answer = await domain.plane.complete({
      claimId: claim.claimId,
      token: claim.token,
      stepId: assignment.step?.id ?? this.id,
      ...how,
    })
    who.assignment = answer.assignment
  }

  /** Calls of a stale holder change nothing, except that its own try no longer counts. */
  async #stale(pick: number, say: (old: NonNullable<World['held']>) => Promise<unknown>): Promise<void> {
    const old = this.stale[pick % Math.max(1, this.stale.length)]
    if (!old) return
    const before = await this.state()
    const steps = before.steps.map((step) => withTryBack(step, old.claim.claimId))
    await say(old).catch((error) => expect(error).toMatchObject({ code: 'CLAIM_LOST' }))
    expect(await this.state()).toEqual({ ...before, steps })
  }

  async #claimBuild(pick: number): Promise<void> {
    if (this.build) return
    const claims = await takeBuilds(builder, { holder: `builder-${pick % 3}`, lease_seconds: 600, max: 100 })
    this.build = claims.find(({ deployment }) => deployment.id === this.id) ?? null
  }

  async #completeBuild(build: BuilderClaim, report: ReturnType<typeof about>): Promise<void> {
    await completeForBuilder(builder, report)
    if (build === this.build) this.#buildOver()
  }

  #buildOver(): void {
    if (this.build) this.staleBuilds.push(this.build)
    this.build = null
  }

  /** The same for a stale builder. */
  async #staleBuild(pick: number, say: (old: BuilderClaim) => Promise<unknown>): Promise<void> {
    const old = this.staleBuilds[pick % Math.max(1, this.staleBuilds.length)]
    if (!old) return
    const before = await this.state()
    const steps = before.steps.map((step) => withTryBack(step, old.claimId))
    await say(old).catch((error) => expect(error).toMatchObject({ code: 'CLAIM_LOST' }))
    const after = await this.state()
    // a late report may still add the commit of an ended build
    expect({ ...after, revisions: after.revisions.map(withoutCommit) }).toEqual({
      ...before,
      steps,
      revisions: before.revisions.map(withoutCommit),
    })
  }

  #lost(): void {
    if (this.held) this.stale.push(this.held)
    this.held = null
  }

  #sql = domain.core.db.$executeRaw.bind(domain.core.db)

  async #someRevision(pick: number): Promise<string> {
    const all = await domain.core.db.revision.findMany({
      where: { deploymentId: this.id },
      orderBy: { number: 'desc' },
      take: 4,
    })
    return all[pick % all.length]!.id
  }

  async state() {
    const [deployment, revisions, steps, events] = await Promise.all([
      domain.core.db.deployment.findUniqueOrThrow({ where: { id: this.id } }),
      domain.core.db.revision.findMany({ where: { deploymentId: this.id }, orderBy: { number: 'asc' } }),
      domain.core.db.step.findMany({ where: { deploymentId: this.id }, orderBy: { id: 'asc' } }),
      domain.core.db.event.findMany({ where: { deploymentId: this.id }, orderBy: { sequence: 'asc' } }),
    ])
    // sort the set, because a removal changes its order
    return { deployment, revisions, steps: steps.map((step) => ({ ...step, takenBy: step.takenBy.sort() })), events }
  }

  async check(): Promise<void> {
    const { deployment, revisions, steps, events } = await this.state()
    const open = revisions.filter((r) => !isTerminal(r.status))
    const inTurn = open.filter((r) => isInTurn(r.status))
    const openStep = steps.find((s) => s.finishedAt === null)

    expect(inTurn.length, 'one turn').toBeLessThanOrEqual(1)
    expect(open.length - inTurn.length, 'one waits').toBeLessThanOrEqual(1)
    expect(deployment.latestRevisionId).toBe(revisions.at(-1)!.id)
    expect(Math.max(...revisions.map((r) => r.rollout))).toBe(deployment.rollout)
    for (const waiting of open) {
      // a newer rollout never blocks an older one
      if (inTurn[0] && waiting !== inTurn[0]) expect(waiting.rollout).toBeGreaterThan(inTurn[0].rollout)
    }
    // only builders get an offered build, and a builder's lease belongs to an offered build
    if (openStep?.offeredAt) {
      expect(openStep.kind).toBe('BUILD')
      expect(deployment.busyStepId).not.toBe(openStep.id)
      expect(openStep.notBefore, 'no holder gets it, not even of a server that knows of no builders').not.toBeNull()
      const said = openStep.builderClaimId ? ['IN_PROGRESS'] : ['WAITING_FOR_BUILDER', 'BUILDER_SILENT']
      expect(said).toContain(inTurn[0]?.reason)
    } else expect(openStep?.builderClaimId ?? null).toBeNull()
    for (const { tries, triesGivenBack, takenBy } of steps) {
      expect(tries - triesGivenBack, 'tries that count').toBeLessThanOrEqual(3)
      // a holder that stopped a step without a withdrawal takes it again under the same claim
      expect(takenBy.length).toBeLessThanOrEqual(tries - triesGivenBack)
    }

    // each open revision has a step, a place in the queue or a reason
    if (deployment.deletedAt) {
      expect(open).toEqual([])
      expect(openStep?.kind ?? 'none').toBe(deployment.tornDownAt ? 'none' : 'TEARDOWN')
    } else if (inTurn[0]) {
      expect(openStep).toMatchObject({
        revisionId: inTurn[0].id,
        kind: inTurn[0].status.includes('BUILD') ? 'BUILD' : 'DEPLOY',
      })
      // a build's deadline starts when the first builder takes it
      const waits = openStep!.offeredAt !== null && openStep!.firstTakenAt === null
      const working = ['BUILDING', 'DEPLOYING'].includes(inTurn[0].status) && !waits
      expect(openStep!.deadlineAt !== null, 'its deadline runs once it was taken').toBe(working)
    } else if (open[0]) {
      expect(open[0].status).toBe('CREATING')
      expect(openStep?.kind).toBe('PROVISION')
    } else {
      expect(openStep).toBeUndefined()
    }

    // the plan has no open actions
    const planned = await transaction(domain.core, async (tx) => {
      const locked = await lockById(tx, this.id)
      return locked ? plan((await readSituation(domain.core, tx, locked)).state) : []
    })
    expect(planned).toEqual([])

    // the events match the revisions and contain only allowed transitions
    const told = new Map<string, { status: string; attempt: number }>()
    const becameActive: string[] = []
    for (const event of events.filter((e) => e.type === 'revision.status')) {
      const before = told.get(event.revisionId!)
      expect(event.fromStatus).toBe(before?.status ?? null)
      if (event.fromStatus) expect(canMove(event.fromStatus, event.toStatus!)).toBe(true)
      told.set(event.revisionId!, { status: event.toStatus!, attempt: event.attempt! })
      if (event.toStatus === 'DEPLOYED') becameActive.push(event.revisionId!)
    }
    for (const revision of revisions)
      expect(told.get(revision.id)).toEqual({ status: revision.status, attempt: revision.attempt })
    expect(deployment.activeRevisionId).toBe(deployment.deletedAt ? null : (becameActive.at(-1) ?? null))
    expect(steps.filter((s) => s.kind === 'DEPLOY' && s.outcome === 'succeeded').length).toBe(becameActive.length)
  }
}

test('for any sequence of actions, the invariants hold in every state', async () => {
  const script = fc.array(fc.record({ action: fc.constantFrom(...ACTIONS), pick: fc.nat(20) }), {
    minLength: 10,
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(script, async (steps) => {
      const world = new World(await gitDeployment(ctx))
      for (const { action, pick } of steps) {
        await world.act(action, pick)
        await world.check()
      }
      // with a working worker all revisions become terminal, the newest rollout last
      await domain.core.db
        .$executeRaw`UPDATE deployments SET lease_expires_at = now() - interval '1 second' WHERE claim_id IS NOT NULL`
      await domain.core.db.$executeRaw`UPDATE steps SET builder_lease_expires_at = NULL`
      await domain.core.db.$executeRaw`UPDATE steps SET not_before = NULL`
      await sweep(domain.core)
      await settle(domain.plane)
      for (const build of await takeBuilds(builder, { max: 100 }))
        await completeForBuilder(builder, successOfBuild(build))
      await settle(domain.plane)
      await world.check()
      expect((await world.state()).revisions.filter((r) => !isTerminal(r.status))).toEqual([])
    }),
    { numRuns: Number(process.env.MODEL_RUNS ?? 12), endOnFailure: true },
  )
  // events of the workspace have no gaps over all runs
  const log = await domain.core.db.event.findMany({
    where: { workspaceId: ctx.workspace.id },
    orderBy: { sequence: 'asc' },
    select: { sequence: true },
  })
  expect(log.map((e) => Number(e.sequence))).toEqual(log.map((_, i) => i + 1))
}, 180_000)
