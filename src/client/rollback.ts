/** The way back: what was deployed before is run again, without a build while its artifact exists. */
import type { Connection } from './connection.ts'
import { PilothouseError } from './errors.ts'
import type { Deployment, Revision } from './openapi.ts'

export interface RollbackOptions {
  deploymentId: string
  /** the revision to go back to; default: the newest one that was deployed, and is older than the active one */
  revisionId?: string
  signal?: AbortSignal
}

/** Answers the revision that is run again: wait for it. Throws PilothouseError: NOT_FOUND where there is nothing to go back to, NOT_REDEPLOYABLE, …. */
export async function rollback(connection: Connection, options: RollbackOptions): Promise<string> {
  const { deploymentId, signal } = options
  const revisionId = options.revisionId ?? (await lastGood(connection, deploymentId, signal)).id
  await connection.api.POST('/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy', {
    params: { path: { deployment_id: deploymentId, revision_id: revisionId } },
    signal,
  })
  return revisionId
}

const PAGE = 100

/** Older than the active one, not just another one: a second rollback goes one further back, and not to what the first one left. */
async function lastGood({ api }: Connection, deploymentId: string, signal?: AbortSignal): Promise<Revision> {
  const path = { deployment_id: deploymentId }
  const { data } = await api.GET('/v2/deployments/{deployment_id}', { params: { path }, signal })
  const active = (data as Deployment).active_revision_id
  let seenActive = active === null
  for (let offset = 0; ; offset += PAGE) {
    const query = { limit: PAGE, offset }
    const page = await api.GET('/v2/deployments/{deployment_id}/revisions', { params: { path, query }, signal })
    const { resources } = page.data!
    for (const revision of resources) {
      if (seenActive && revision.status === 'DEPLOYED') return revision
      if (revision.id === active) seenActive = true
    }
    if (resources.length < PAGE) throw nothing(deploymentId)
  }
}

const nothing = (id: string) =>
  new PilothouseError({
    status: 404,
    code: 'NOT_FOUND',
    detail: `Deployment ${id} has no earlier revision that was deployed.`,
    requestId: null,
  })
