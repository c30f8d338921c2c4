/** Redeploys or interrupts a revision (docs/deployments.md#revisions-and-rollouts). A rollback is a redeploy of an older revision. */
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { ConflictError, NotFoundError, NotRedeployableError, requireVersion } from '../errors/errors.ts'
import { parse } from '../parsing/parse.ts'
import { readOwnRows } from '../query-engine/reading.ts'
import { moved, nextRollout } from '../repositories/deployment.ts'
import { lockedAggregate } from '../repositories/locked-aggregate.ts'
import { type LockedDeployment, lockDeployment, refuseDeleted } from '../repositories/locks.ts'
import { runtimeConfigOf } from '../revisions/runtime-config.ts'
import { traceOfRollout } from '../revisions/traces.ts'
import { transition } from '../revisions/transition.ts'
import { reuseTarball } from '../sources/tarball.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import type { ReadContext, Tx } from '../transaction/context.ts'
import { type Written, writeVerb } from '../transaction/once.ts'
import { explain, missingPhrase } from '../values/explanation.ts'
import { type Content, isTerminal, missingContent, needsBuild, STATUS_WORDS } from '../values/lifecycle.ts'
import type { RevisionStatus } from '../values/row-types.ts'
import { revisionPath } from '../values/shapes.ts'
import { interrupt, supersede } from './plan.ts'
import { apply, readSituation, settle } from './reconcile.ts'

export const redeployInput = z.object({ path: revisionPath })

/** Returns what `read` reads in the transaction, by default the ids. Role: deployer. Throws NotRedeployableError (400). */
export const redeployRevision = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path } = parse(redeployInput, raw)
  const parts = { revisionId: path.revision_id, withSecretsAndIntegration: true }
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    const { revisions } = await lockedAggregate(tx, deployment, parts)
    const revision = revisions.find(({ id }) => id === path.revision_id)
    if (!revision) throw new NotFoundError('Revision', path.revision_id)
    requireVersion(raw.ifMatch, 'Deployment', deployment.id, deployment)
    const refuse = (why: string) => new NotRedeployableError(`Revision ID ${revision.id} can't be redeployed: ${why}.`)
    const why = whyNotRedeployable(revision, deployment)
    if (why) throw refuse(why)
    const tarball = requiredTarball(revision)
    if (tarball && !(await reuseTarball(tx, tarball))) throw refuse(TARBALL_REMOVED)

    const actor = actorOf(ctx.actor)
    const before = await readSituation(ctx, tx, deployment)
    const skipped = await apply(ctx, tx, before, supersede(before.state, revision), actor)
    const { id, number } = revision
    const change = { what: 'REDEPLOYED', actor, revision: { id, number } } as const
    const next = nextRollout(tx, skipped.deployment, change, null)
    const again = transition(tx, deployment.workspaceId, revision, {
      to: deployment.provisionedAt ? 'QUEUED' : 'CREATING',
      actor,
      again: { rollout: next.rollout, traceparent: traceOfRollout(ctx), ...runtimeConfigOf(deployment) },
    })
    const open = [...skipped.state.open, again]
    await settle(ctx, tx, { deployment: moved(tx, next, again.id, again.status), state: { ...skipped.state, open } })
    return read(tx, { deploymentId: deployment.id, revisionId: revision.id })
  }
  return lockDeployment(ctx, path.deployment_id, work, parts)
})

type RevisionFields = Content & { status: RevisionStatus }

/** The reason, as a clause; null: it can be redeployed unless its tarball was removed. Pure. */
function whyNotRedeployable(revision: RevisionFields, deployment: { deletedAt: Date | null }): string | null {
  if (deployment.deletedAt) return 'its deployment is being deleted'
  if (!isTerminal(revision.status)) return `it ${STATUS_WORDS[revision.status]}`
  const missing = missingContent(revision)
  return missing && `it has nothing to build or run; it lacks ${missingPhrase(missing)}`
}

/** The path of the tarball that a redeploy needs; null: none. */
const requiredTarball = (revision: RevisionFields): string | null =>
  needsBuild(revision) ? revision.sourceTarballPath : null

const TARBALL_REMOVED = 'its source tarball was removed; upload it again and make a new revision'

const FIELDS = {
  id: true,
  status: true,
  source: true,
  repoRef: true,
  imageUri: true,
  sourceTarballPath: true,
  artifact: true,
  deployment: { select: { deletedAt: true } },
} as const satisfies Prisma.RevisionSelect
type Row = Prisma.RevisionGetPayload<{ select: typeof FIELDS }>

/** For each revision of this tenant the reason, or null. One statement, plus one for tarballs. Role: viewer. */
export async function readWhyNotRedeployable(
  ctx: ReadContext,
  ids: readonly string[],
): Promise<Map<string, string | null>> {
  requireRole(ctx, 'viewer')
  const rows = await readOwnRows<Row>(ctx, 'Revision', ids, { select: FIELDS })
  const needed = rows.flatMap((row) => requiredTarball(row) ?? [])
  const existing = needed.length === 0 ? [] : await existingTarballs(ctx, needed)
  return new Map(
    rows.map((row) => {
      const tarball = requiredTarball(row)
      const removed = tarball && !existing.includes(tarball) ? TARBALL_REMOVED : null
      return [row.id, whyNotRedeployable(row, row.deployment) ?? removed]
    }),
  )
}

async function existingTarballs({ db }: ReadContext, paths: string[]): Promise<string[]> {
  const where = { objectPath: { in: paths }, removedAt: null }
  const found = await db.upload.findMany({ where, select: { objectPath: true } })
  return found.map(({ objectPath }) => objectPath)
}

/**
 * Interrupts a revision immediately (docs/deployments.md#revisions-and-rollouts). The next step starts when its worker has
 * stopped.
 */
export const interruptInput = z.object({ path: revisionPath })

/**
 * Returns what `read` reads in the transaction, by default the ids. Role: deployer. Throws ConflictError for a revision that
 * has ended.
 */
export const interruptRevision = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path } = parse(interruptInput, raw)
  const parts = { revisionId: path.revision_id }
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    const { revisions } = await lockedAggregate(tx, deployment, parts)
    const revision = revisions.find(({ id }) => id === path.revision_id)
    if (!revision) throw new NotFoundError('Revision', path.revision_id)
    refuseDeleted(deployment)
    if (isTerminal(revision.status))
      throw new ConflictError(`Revision ID ${revision.id} has ended already: it ${STATUS_WORDS[revision.status]}.`)
    const { subject } = ctx.actor
    const actions = interrupt([revision], explain('INTERRUPTED_BY_PERSON', { subject }))
    await settle(ctx, tx, await readSituation(ctx, tx, deployment), actions, actorOf(ctx.actor))
    return read(tx, { deploymentId: deployment.id, revisionId: revision.id })
  }
  return lockDeployment(ctx, path.deployment_id, work, parts)
})
