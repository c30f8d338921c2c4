/** The log of a build or of a running agent, as it is written: every line once, in order. */
import type { Connection } from './connection.ts'
import type { LogPage } from './openapi.ts'
import { resumingStream, streamHeaders } from './stream.ts'

export type LogLine = LogPage['logs'][number]

export interface LogOptions {
  deploymentId: string
  /** of this revision alone; default: of all revisions of the deployment */
  revisionId?: string
  /** `build`: what builds print; `deploy`: the roll-out and the running agent */
  type: 'build' | 'deploy'
  /** begins so many lines before the end, 0 to 1000; default: at the beginning of the log */
  last?: number
  signal?: AbortSignal
}

/**
 * Goes on by itself when the connection breaks or a server stops. Of a revision's build it ends with the build; all else goes on
 * for as long as there is the deployment. Throws PilothouseError (404; 401 when the key was revoked), UnreachableError, and what
 * `signal` was aborted with. To end it, break out of the loop.
 */
export async function* followLogs(connection: Connection, options: LogOptions): AsyncGenerator<LogLine, void> {
  const open = opener(connection, options)
  const { signal } = options
  for await (const { data } of resumingStream({ ...connection, open, signal })) yield JSON.parse(data)
}

function opener({ api }: Connection, { deploymentId, revisionId, type, last }: LogOptions) {
  const deployment_id = deploymentId
  return async (cursor: string | null, signal: AbortSignal): Promise<Response> => {
    const how = { headers: streamHeaders(cursor), parseAs: 'stream', signal } as const
    const query = { type, last, follow: true }
    const opened =
      revisionId === undefined
        ? api.GET('/v2/deployments/{deployment_id}/logs', { ...how, params: { path: { deployment_id }, query } })
        : api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', {
            ...how,
            params: { path: { deployment_id, revision_id: revisionId }, query },
          })
    return (await opened).response
  }
}
