/**
 * What a change of a deployment starts from (docs/deployments.md#deployments). One that names a part of the source merges
 * with the latest revision. One that names none, as a change of secrets does, keeps what runs or is about to: a rotated
 * key must neither change code nor undo a rollback, and needs no build.
 */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import type { Tx } from '../context/context.ts'
import { isTerminal, OPEN } from '../model/lifecycle.ts'
import { buildColumns, type RevisionSource, revisionColumns, saysSource } from '../model/revision-source.ts'
import type { UpdateBody } from '../model/shapes.ts'

/** The revision that `body` changes: the latest; or the newest rollout that is open, else the active one, else the latest. One statement. */
export async function baseOf(tx: Tx, deployment: Deployment, body: UpdateBody): Promise<Revision> {
  const { latestRevisionId, activeRevisionId } = deployment
  const found = await tx.sql.revision.findMany({
    where: {
      deploymentId: deployment.id,
      OR: [
        { status: { in: [...OPEN] } },
        { id: { in: [latestRevisionId, activeRevisionId].filter((id) => id !== null) } },
      ],
    },
    orderBy: { rollout: 'desc' },
  })
  const latest = found.find(({ id }) => id === latestRevisionId)!
  if (saysSource(body)) return latest
  return found.find(({ status }) => !isTerminal(status)) ?? found.find(({ id }) => id === activeRevisionId) ?? latest
}

/** What the revision that comes of it is made of. `deployment`: as the change left it. */
export function sourceAfter(base: Revision, deployment: Deployment, body: UpdateBody): RevisionSource {
  if (saysSource(body)) return { ...revisionColumns(body.source_revision_config, base), ...toBuild(deployment) }
  const { repoCommitSha, artifact } = base
  const basedOnId = base.basedOnId ?? base.id
  return { ...revisionColumns(null, base), ...buildColumns(null, base), repoCommitSha, artifact, basedOnId }
}

/** Of a source of its own: to be built, as the deployment says now, from what the ref names when the build begins. */
export function toBuild(deployment: Deployment) {
  return { ...buildColumns(null, deployment), repoCommitSha: null, artifact: null, basedOnId: null }
}
