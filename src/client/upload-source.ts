/** Uploads the tarball of an `internal_source` deployment to an upload URL from the server. */
import type { Connection } from './connection.ts'
import { fetchWithRetries } from './retry.ts'

export interface UploadOptions {
  deploymentId: string
  /** a gzip tarball of at most 200 MB; in Node also its path */
  file: string | Blob
  signal?: AbortSignal
}

/**
 * Returns the value for `source_revision_config.source_tarball_path` of the next update. Throws UnreachableError and PilothouseError
 * (409: not an `internal_source`, or too many unused uploads). No message contains the upload URL, which works without a key.
 */
export async function uploadSource({ api, retry }: Connection, options: UploadOptions): Promise<string> {
  const { deploymentId, file, signal } = options
  const path = { deployment_id: deploymentId }
  const { data } = await api.POST('/v2/deployments/{deployment_id}/upload-url', { params: { path }, signal })
  const { upload_url, object_path } = data!
  const blob = typeof file === 'string' ? await openFile(file) : file
  const body = blob.slice(0, blob.size, 'application/gzip')
  await fetchWithRetries(retry, () => new Request(upload_url, { method: 'PUT', body, signal }))
  return object_path
}

/** Gets `node:fs` at run time: bundlers for browsers refuse an import of it. */
async function openFile(path: string): Promise<Blob> {
  const fs = globalThis.process?.getBuiltinModule?.('node:fs')
  if (!fs) throw new TypeError('A path needs Node.js: pass a Blob.')
  return fs.openAsBlob(path)
}
