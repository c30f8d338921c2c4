/** Streams the log of a build or of a running agent in order, each line exactly once (README.md). */
import type { Connection } from './connection.ts'
import type { LogPage } from './openapi.ts'
import { resumingStream, streamHeaders } from './stream.ts'

export type LogLine = LogPage['logs'][number]

export interface LogOptions {
  deploymentId: string
  /** default: all revisions of the deployment */
  revisionId?: string
  /** `build`: output of builds; `deploy`: the rollout and the running agent */
  type: 'build' | 'deploy'
  /** how many existing lines to yield first, 0 to 1000; default: all */
  last?: number
  signal?: AbortSignal
}

/**
 * Resumes after a broken connection or a server stop. The log of a revision's build ends with the build. Other logs end with the
 * deployment. Throws PilothouseError (404; 401: the key was revoked), UnreachableError and the reason of `signal`. To end it, leave
 * the loop.
 */
export async function* followLogs(connection: Connection, options: LogOptions): AsyncGenerator<LogLine, void> {
  const open = opener(connection, options)
  const { signal } = options
  for await (const { data } of resumingStream({ ...connection, open, signal })) yield JSON.parse(data)
}

function opener({ api }: Connection, { deploymentId, revisionId, type, last }: LogOptions) {
  const deployment_id = deploymentId
  return async (cursor: string | null, signal: AbortSignal): Promise<Response> => {
    const requestOptions = { headers: streamHeaders(cursor), parseAs: 'stream', signal } as const
    const query = { type, last, follow: true }
    const request =
      revisionId === undefined
        ? api.GET('/v2/deployments/{deployment_id}/logs', {
            ...requestOptions,
            params: { path: { deployment_id }, query },
          })
        : api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', {
            ...requestOptions,
            params: { path: { deployment_id, revision_id: revisionId }, query },
          })
    return (await request).response
  }
}
