/** Chooses the revision that a change of a deployment starts from, and what the new revision is made of (README.md). */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import { isOpen } from '../values/lifecycle.ts'
import {
  buildColumns,
  NO_COMMIT_WORDS,
  type RevisionSource,
  revisionColumns,
  saysSource,
} from '../values/revision-source.ts'
import type { UpdateBody } from '../values/shapes.ts'

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
