/**
 * What a change of a deployment starts from (contract 3). One that names a part of the source merges with the latest
 * revision. One that names none, as a change of secrets does, keeps what runs or is about to: a rotated key must
 * neither change code nor undo a rollback, and needs no build.
 */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import type { Tx } from '../context.ts'
import type { UpdateBody } from '../deployments/schemas.ts'
import { isTerminal, OPEN } from './lifecycle.ts'
import type { RevisionSource } from './rollout.ts'

/** Whether a non-null member says what is built or run. */
function namesSource({ source_config: config, source_revision_config: revision }: UpdateBody): boolean {
  return [
    revision?.repo_ref,
    revision?.graph_config_path,
    revision?.image_uri,
    revision?.source_tarball_path,
    config?.install_command,
    config?.build_command,
  ].some((value) => value != null)
}

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
  if (namesSource(body)) return latest
  return found.find(({ status }) => !isTerminal(status)) ?? found.find(({ id }) => id === activeRevisionId) ?? latest
}

/** What the revision that comes of it is made of. `deployment`: as the change left it. */
export function sourceAfter(base: Revision, deployment: Deployment, body: UpdateBody): RevisionSource {
  const { repoRef, graphConfigPath, imageUri, sourceTarballPath, repoCommitSha, artifact } = base
  if (!namesSource(body)) {
    const { installCommand, buildCommand } = base
    const basedOnId = base.basedOnId ?? base.id
    const pinned = { installCommand, buildCommand, repoCommitSha, artifact, basedOnId }
    return { repoRef, graphConfigPath, imageUri, sourceTarballPath, ...pinned }
  }
  const said = body.source_revision_config
  return {
    repoRef: said?.repo_ref ?? repoRef,
    graphConfigPath: said?.graph_config_path ?? graphConfigPath,
    imageUri: said?.image_uri ?? imageUri,
    sourceTarballPath: said?.source_tarball_path ?? sourceTarballPath,
    ...toBuild(deployment),
  }
}

/** Of a source of its own: to be built, as the deployment says now, from what the ref names when the build begins. */
export function toBuild({ installCommand, buildCommand }: Deployment) {
  return { installCommand, buildCommand, repoCommitSha: null, artifact: null, basedOnId: null }
}
