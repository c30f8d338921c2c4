/** Sends what an `internal_source` deployment is made of: an address is asked for, and the tarball put there. */
import { openAsBlob } from 'node:fs'
import type { Connection } from './connection.ts'
import { fetchPatiently } from './retry.ts'

export interface UploadOptions {
  deploymentId: string
  /** path of a gzip tarball of at most 200 MB */
  file: string
  signal?: AbortSignal
}

/**
 * Answers what to set `source_revision_config.source_tarball_path` to, by an update. Throws PilothouseError (409 where it is not an
 * `internal_source`, or has too many unused uploads) and UnreachableError. No message has the address, which needs no key.
 */
export async function uploadSource({ api, retry }: Connection, options: UploadOptions): Promise<string> {
  const { deploymentId, file, signal } = options
  const path = { deployment_id: deploymentId }
  const { data } = await api.POST('/v2/deployments/{deployment_id}/upload-url', { params: { path }, signal })
  const { upload_url, object_path } = data!
  const body = await openAsBlob(file, { type: 'application/gzip' })
  await fetchPatiently(retry, () => new Request(upload_url, { method: 'PUT', body, signal }))
  return object_path
}
