/** Rollback: redeploys an earlier revision, without a build while its artifact exists. */
import type { Connection } from './connection.ts'
import { PilothouseError } from './errors.ts'
import type { Deployment, Revision } from './openapi.ts'

export interface RollbackOptions {
  deploymentId: string
  /** default: the newest deployed revision that is older than the active one */
  revisionId?: string
  signal?: AbortSignal
}

/** Returns the id of the redeployed revision, without waiting for it. Throws PilothouseError (NOT_FOUND: no earlier revision; NOT_REDEPLOYABLE). */
export async function rollback(connection: Connection, options: RollbackOptions): Promise<string> {
  const { deploymentId, signal } = options
  const revisionId = options.revisionId ?? (await previousDeployed(connection, deploymentId, signal)).id
  await connection.api.POST('/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy', {
    params: { path: { deployment_id: deploymentId, revision_id: revisionId } },
    signal,
  })
  return revisionId
}

const PAGE_SIZE = 100

/** Looks only at revisions older than the active one, so a second rollback goes further back instead of undoing the first. */
async function previousDeployed({ api }: Connection, deploymentId: string, signal?: AbortSignal): Promise<Revision> {
  const path = { deployment_id: deploymentId }
  const { data } = await api.GET('/v2/deployments/{deployment_id}', { params: { path }, signal })
  const active = (data as Deployment).active_revision_id
  let seenActive = active === null
  for (let offset = 0; ; offset += PAGE_SIZE) {
    const query = { limit: PAGE_SIZE, offset }
    const page = await api.GET('/v2/deployments/{deployment_id}/revisions', { params: { path, query }, signal })
    const { resources } = page.data!
    for (const revision of resources) {
      if (seenActive && revision.status === 'DEPLOYED') return revision
      if (revision.id === active) seenActive = true
    }
    if (resources.length < PAGE_SIZE) throw noEarlierRevision(deploymentId)
  }
}

const noEarlierRevision = (id: string) =>
  new PilothouseError({
    status: 404,
    code: 'NOT_FOUND',
    detail: `Deployment ${id} has no deployed revision older than the active one.`,
    requestId: null,
  })
