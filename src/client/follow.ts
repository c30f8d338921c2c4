/** Streams events and log lines in order, each exactly once (README.md). */
import type { Connection } from './connection.ts'
import type { Event, LogPage } from './openapi.ts'
import { resumingStream, streamHeaders } from './stream.ts'

export interface WatchOptions {
  /** default: the whole workspace */
  deploymentId?: string
  /** only status changes of this revision, starting with its current status; the iteration ends when the revision has ended */
  revisionId?: string
  /** only these event types; `deployment.*` stands for all of a resource. Default: all */
  types?: string[]
  /** the `cursor` of an event: yields later events. Default: events from now on */
  after?: string
  signal?: AbortSignal
}

export type LogLine = LogPage['logs'][number]

export interface LogOptions {
  deploymentId: string
  /** default: all revisions of the deployment */
  revisionId?: string
  /** `build`: output of builds; `deploy`: the rollout and the running agent */
  type: 'build' | 'deploy'
  /** how many existing lines to yield first, 0 to 1000; default: all */
  last?: number
  /** only lines that contain this text, in any case */
  query?: string
  /** only lines that are JSON objects with these fields, `name=value` */
  fields?: string[]
  /** only lines of this replica, whose name they have in brackets */
  replica?: string
  /** only lines of this level or a more severe one */
  level?: LogLine['level']
  /** only lines at this time or later */
  from?: Date
  signal?: AbortSignal
}

/**
 * Resumes after a broken connection or a server stop. Throws PilothouseError (404; 401: the key was revoked; 422: `after` is older than
 * the log), UnreachableError and the reason of `signal`. To end it, leave the loop.
 */
export function watch(connection: Connection, options: WatchOptions): AsyncGenerator<Event, void> {
  const { api } = connection
  const { deploymentId: deployment_id, revisionId: revision_id, types } = options
  const query = { types: types?.join(',') }
  return follow(connection, options, (request) => {
    if (deployment_id === undefined) return api.GET('/v2/events', { ...request, params: { query } })
    if (revision_id === undefined)
      return api.GET('/v2/deployments/{deployment_id}/events', {
        ...request,
        params: { path: { deployment_id }, query },
      })
    const path = { deployment_id, revision_id }
    return api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/events', {
      ...request,
      params: { path, query },
    })
  })
}

/**
 * Resumes after a broken connection or a server stop. The log of a revision's build ends with the build. Other logs end with the
 * deployment. Throws PilothouseError (404; 401: the key was revoked), UnreachableError and the reason of `signal`. To end it, leave
 * the loop.
 */
export function followLogs(connection: Connection, options: LogOptions): AsyncGenerator<LogLine, void> {
  const { api } = connection
  const { deploymentId: deployment_id, revisionId: revision_id, last, signal } = options
  const query = { ...logQuery(options), last, follow: true }
  return follow(connection, { signal }, (request) =>
    revision_id === undefined
      ? api.GET('/v2/deployments/{deployment_id}/logs', { ...request, params: { path: { deployment_id }, query } })
      : api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', {
          ...request,
          params: { path: { deployment_id, revision_id }, query },
        }),
  )
}

/** The type of the log and the filters as query parameters. */
export const logQuery = ({ type, query, fields, replica, level, from }: LogOptions) => ({
  ...{ type, query, replica, level, field: fields?.join(',') },
  start_time: from?.toISOString(),
})

interface StreamRequest {
  headers: Record<string, string>
  parseAs: 'stream'
  signal: AbortSignal
}

async function* follow<Item>(
  { retry, origin }: Connection,
  { after, signal }: { after?: string; signal?: AbortSignal },
  send: (request: StreamRequest) => Promise<{ response: Response }>,
): AsyncGenerator<Item, void> {
  const open = async (cursor: string | null, signal: AbortSignal) =>
    (await send({ headers: streamHeaders(cursor), parseAs: 'stream', signal })).response
  for await (const { data } of resumingStream({ retry, origin, open, after, signal })) yield JSON.parse(data)
}
