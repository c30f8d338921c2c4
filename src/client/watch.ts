/** The events of a deployment or a revision as they happen, and since a cursor: none lost, none twice, in order. */
import type { Connection } from './connection.ts'
import type { Event } from './openapi.ts'
import { resumingStream, streamHeaders } from './stream.ts'

export interface WatchOptions {
  deploymentId: string
  /** only the changes of this one's status, the current one first; the iteration ends when its work has ended */
  revisionId?: string
  /** the `cursor` of an event: those behind it. Default: what happens from now on */
  after?: string
  signal?: AbortSignal
}

/**
 * Goes on by itself when the connection breaks or a server stops. Throws PilothouseError (404; 401 when the key was revoked; 422
 * when `after` is older than the log), UnreachableError, and what `signal` was aborted with. To end it, break out of the loop.
 */
export async function* watch(connection: Connection, options: WatchOptions): AsyncGenerator<Event, void> {
  const { after, signal } = options
  const open = opener(connection, options)
  for await (const { data } of resumingStream({ ...connection, open, after, signal })) yield JSON.parse(data)
}

function opener({ api }: Connection, { deploymentId, revisionId }: WatchOptions) {
  const deployment_id = deploymentId
  return async (cursor: string | null, signal: AbortSignal): Promise<Response> => {
    const how = { headers: streamHeaders(cursor), parseAs: 'stream', signal } as const
    const opened =
      revisionId === undefined
        ? api.GET('/v2/deployments/{deployment_id}/events', { ...how, params: { path: { deployment_id } } })
        : api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/events', {
            ...how,
            params: { path: { deployment_id, revision_id: revisionId } },
          })
    return (await opened).response
  }
}
