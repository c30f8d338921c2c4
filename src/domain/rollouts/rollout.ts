/** Makes a revision and starts its rollout. Each rollout takes the deployment's next number under its lock (README.md). */
import { randomUUID } from 'node:crypto'
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import { NOTHING_WAITS, nextRollout } from '../repositories/deployment.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { runtimeConfigOf } from '../revisions/runtime-config.ts'
import { traceIdOfRevision, traceOfRollout } from '../revisions/traces.ts'
import { actorOf } from '../transaction/access.ts'
import type { Caller, Core, Tx } from '../transaction/context.ts'
import type { Change } from '../values/deployment-change.ts'
import type { ActorKind } from '../values/event-types.ts'
import { isOpen } from '../values/lifecycle.ts'
import {
  buildColumns,
  NO_COMMIT_WORDS,
  type RevisionSource,
  revisionColumns,
  saysSource,
  type Trigger,
} from '../values/revision-source.ts'
import type { UpdateBody } from '../values/shapes.ts'
import { supersede } from './plan.ts'
import { apply, readSituation, settle } from './reconcile.ts'

/** The author of a revision. `subject` is null if the author has no id. */
export interface Author extends Core, Pick<Caller, 'trace'> {
  actor: { kind: ActorKind; subject: string | null; name: string | null }
}

/** Why a revision is made. `why`: a message for its first event. `change`: the author's change to the deployment. */
export interface RolloutCause {
  trigger: Trigger
  change: Omit<Change, 'actor'>
  why?: string
}

/** Creates the next revision with all that it pins, and reconciles. Returns its id. */
export async function rollOut(
  ctx: Author,
  tx: Tx,
  deployment: LockedDeployment,
  source: RevisionSource,
  { trigger, change, why }: RolloutCause,
): Promise<string> {
  const id = randomUUID()
  const actor = actorOf(ctx.actor)
  const number = deployment.revisionCount + 1
  const before = await readSituation(ctx, tx, deployment)
  const skipped = await apply(ctx, tx, before, supersede(before.state, { id, number }), actor)
  const now = tx.now()
  const revision: Revision = {
    id,
    deploymentId: deployment.id,
    number,
    rollout: deployment.rollout + 1,
    status: 'CREATING',
    ...NOTHING_WAITS,
    statusSince: now,
    attempt: 1,
    source: deployment.source,
    repoUrl: deployment.repoUrl,
    ...source,
    secretSetId: deployment.secretSetId,
    trigger,
    createdBy: ctx.actor.subject,
    createdActor: { ...actor },
    createdAt: now,
    rolloutAt: now,
    rolloutActor: { ...actor },
    traceparent: traceOfRollout(ctx),
    supersededById: null,
    ...runtimeConfigOf(deployment),
    updatedAt: now,
    deployedAt: null,
  }
  tx.unit.insert('revision', revision)
  const next = nextRollout(tx, skipped.deployment, { ...change, actor }, id)
  tx.emit({
    workspaceId: deployment.workspaceId,
    type: 'revision.status',
    deploymentId: deployment.id,
    revisionId: id,
    from: null,
    to: 'CREATING',
    message: why ?? null,
    attempt: 1,
    traceId: traceIdOfRevision(revision),
    actor,
  })
  const open = [...skipped.state.open, revision]
  await settle(ctx, tx, { deployment: next, state: { ...skipped.state, open } })
  return id
}

/** The revision that `body` changes. `revisions`: those of the locked deployment. */
export function baseOf(deployment: Deployment, revisions: readonly Revision[], body: UpdateBody): Revision {
  const { latestRevisionId, activeRevisionId } = deployment
  const latest = revisions.find(({ id }) => id === latestRevisionId)!
  if (saysSource(body)) return latest
  const open = revisions.filter(isOpen).sort((a, b) => b.rollout - a.rollout)
  return open[0] ?? revisions.find(({ id }) => id === activeRevisionId) ?? latest
}

/** The source of the new revision. `deployment`: with the change applied. */
export function sourceAfter(base: Revision, deployment: Deployment, body: UpdateBody): RevisionSource {
  if (saysSource(body)) return { ...revisionColumns(body.source_revision_config, base), ...toBuild(deployment) }
  const { repoCommitSha, commitMessage, commitAuthor, artifact, buildPlan } = base
  const taken = {
    repoCommitSha,
    commitMessage,
    commitAuthor,
    artifact,
    buildPlan,
    basedOnId: base.basedOnId ?? base.id,
  }
  return { ...revisionColumns(null, base), ...buildColumns(null, base), ...taken }
}

/** A new source: built with the deployment's current commands, from the commit that the ref names when the build begins. */
export function toBuild(deployment: Deployment) {
  const nothing = { repoCommitSha: null, ...NO_COMMIT_WORDS, artifact: null, buildPlan: null, basedOnId: null }
  return { ...buildColumns(null, deployment), ...nothing }
}
