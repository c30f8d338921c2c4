/** Streams the events of a deployment or a revision in order, each exactly once (README.md). */
import type { Connection } from './connection.ts'
import type { Event } from './openapi.ts'
import { resumingStream, streamHeaders } from './stream.ts'

export interface WatchOptions {
  deploymentId: string
  /** only status changes of this revision, starting with its current status; the iteration ends when the revision has ended */
  revisionId?: string
  /** the `cursor` of an event: yields later events. Default: events from now on */
  after?: string
  signal?: AbortSignal
}

/**
 * Resumes after a broken connection or a server stop. Throws PilothouseError (404; 401: the key was revoked; 422: `after` is older than
 * the log), UnreachableError and the reason of `signal`. To end it, leave the loop.
 */
export async function* watch(connection: Connection, options: WatchOptions): AsyncGenerator<Event, void> {
  const { after, signal } = options
  const open = opener(connection, options)
  for await (const { data } of resumingStream({ ...connection, open, after, signal })) yield JSON.parse(data)
}

function opener({ api }: Connection, { deploymentId, revisionId }: WatchOptions) {
  const deployment_id = deploymentId
  return async (cursor: string | null, signal: AbortSignal): Promise<Response> => {
    const requestOptions = { headers: streamHeaders(cursor), parseAs: 'stream', signal } as const
    const request =
      revisionId === undefined
        ? api.GET('/v2/deployments/{deployment_id}/events', { ...requestOptions, params: { path: { deployment_id } } })
        : api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/events', {
            ...requestOptions,
            params: { path: { deployment_id, revision_id: revisionId } },
          })
    return (await request).response
  }
}
