/** A revision as REST shows it (spec 2.3, 2.6; contract 4). */
import type { z } from 'zod'
import type { SourceRevisionConfig } from '../../domain/deployments/schemas.ts'
import { knownReason } from '../../domain/reasons.ts'
import type { Revision } from '../../generated/prisma/client.ts'
import type { ResponseHeaders } from '../response-headers.ts'
import type { revision } from '../schemas.ts'

export function presentRevision(row: Revision): z.output<typeof revision> {
  return {
    id: row.id,
    deployment_id: row.deploymentId,
    status: row.status,
    status_message: row.statusMessage,
    reason: knownReason(row.reason, null),
    reason_since: row.reasonSince?.toISOString() ?? null,
    source: row.source,
    source_revision_config: presentRevisionConfig(row),
    attempt: row.attempt,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  }
}

/** Of the answers of writes: others may write meanwhile, but this is the revision of this very call. */
export const REVISION_MADE = {
  'X-Revision-Id': {
    type: 'string',
    format: 'uuid',
    description: 'The revision that this call made or moved; absent if there is none.',
  },
} as const satisfies ResponseHeaders

/** The header itself; none for a call that made and moved no revision. */
export const revisionHeader = (revisionId: string | null) =>
  revisionId === null ? {} : { 'X-Revision-Id': revisionId }

type RevisionContent = Pick<
  Revision,
  'repoRef' | 'graphConfigPath' | 'imageUri' | 'sourceTarballPath' | 'repoCommitSha'
>

/** Stands in for the latest revision of a deployment that has none. */
export const NO_REVISION: RevisionContent = {
  repoRef: null,
  graphConfigPath: null,
  imageUri: null,
  sourceTarballPath: null,
  repoCommitSha: null,
}

export function presentRevisionConfig(row: RevisionContent): SourceRevisionConfig {
  return {
    repo_ref: row.repoRef,
    graph_config_path: row.graphConfigPath,
    image_uri: row.imageUri,
    source_tarball_path: row.sourceTarballPath,
    repo_commit_sha: row.repoCommitSha,
  }
}
