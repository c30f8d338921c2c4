/**
 * What a change of a deployment starts from (docs/deployments.md#deployments). One that names a part of the source merges
 * with the latest revision. One that names none, as a change of secrets does, keeps what runs or is about to: a rotated
 * key must neither change code nor undo a rollback, and needs no build.
 */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import { isOpen } from '../values/lifecycle.ts'
import { buildColumns, NO_WORDS, type RevisionSource, revisionColumns, saysSource } from '../values/revision-source.ts'
import type { UpdateBody } from '../values/shapes.ts'

/** The revision that `body` changes: the latest; or the newest rollout that is open, else the active one, else the latest. `revisions`: of the facts. */
export function baseOf(deployment: Deployment, revisions: readonly Revision[], body: UpdateBody): Revision {
  const { latestRevisionId, activeRevisionId } = deployment
  const latest = revisions.find(({ id }) => id === latestRevisionId)!
  if (saysSource(body)) return latest
  const open = revisions.filter(isOpen).sort((a, b) => b.rollout - a.rollout)
  return open[0] ?? revisions.find(({ id }) => id === activeRevisionId) ?? latest
}

/** What the revision that comes of it is made of. `deployment`: as the change left it. */
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

/** Of a source of its own: to be built, as the deployment says now, from what the ref names when the build begins. */
export function toBuild(deployment: Deployment) {
  const nothing = { repoCommitSha: null, ...NO_WORDS, artifact: null, buildPlan: null, basedOnId: null }
  return { ...buildColumns(null, deployment), ...nothing }
}
