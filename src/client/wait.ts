/** Waiting for the end of a revision, by long polls: one request a minute, answered the moment it has ended. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Connection } from './connection.ts'
import { WaitTimeoutError } from './errors.ts'
import type { Revision } from './openapi.ts'

export interface WaitOptions {
  deploymentId: string
  revisionId: string
  /** ms for all of it; default: no bound */
  timeoutMs?: number
  signal?: AbortSignal
  /** told of the revision whenever its status or message is another one than before; of quick changes it may miss some */
  onChange?: (revision: Revision) => void
}

const TERMINAL: ReadonlySet<string> = new Set([
  'DEPLOYED',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
] satisfies Revision['status'][])

/** Whether work on a revision has ended. Only a redeploy leads on from there. */
export const isTerminal = (status: string): boolean => TERMINAL.has(status)

/** ms; an answer that comes sooner is followed by a pause of as much */
const EARLY_MS = 200
/** seconds; what one request may wait at most */
const LONGEST_WAIT = 60

/**
 * The revision once it has ended, however it did. Lives through cut connections, restarts, 429 and 503, each for as long as the
 * client tries again. Throws WaitTimeoutError with the revision as it was last seen, PilothouseError (404, 401, …) and
 * UnreachableError, and what `signal` was aborted with. Whatever it throws, the rollout goes on.
 */
export async function waitUntilTerminal({ api }: Connection, options: WaitOptions): Promise<Revision> {
  const { deploymentId, revisionId, timeoutMs = Number.POSITIVE_INFINITY, onChange } = options
  const deadline = performance.now() + timeoutMs
  const timeout = new AbortController()
  const timer = Number.isFinite(timeoutMs) ? setTimeout(() => timeout.abort(), timeoutMs) : undefined
  const signal = options.signal ? AbortSignal.any([options.signal, timeout.signal]) : timeout.signal
  const path = { deployment_id: deploymentId, revision_id: revisionId }
  let last: Revision | null = null
  let etag: string | null = null
  try {
    for (;;) {
      const asked = performance.now()
      const left = (deadline - performance.now()) / 1000
      // the first look is at once: it says where it stands
      const wait: number = last === null ? 0 : Math.max(0, Math.min(LONGEST_WAIT, Math.ceil(left)))
      const { data, response }: { data?: Revision; response: Response } = await api.GET(
        '/v2/deployments/{deployment_id}/revisions/{revision_id}',
        {
          params: { path, query: { wait } },
          headers: etag === null ? {} : { 'If-None-Match': etag },
          signal,
        },
      )
      const changed = data !== undefined && (last === null || said(data) !== said(last))
      if (changed) onChange?.(data)
      if (data) {
        last = data
        etag = response.headers.get('etag')
        if (isTerminal(data.status)) return data
      }
      if (performance.now() >= deadline) throw late(last)
      // a server that stops answers early
      if (!changed && performance.now() - asked < EARLY_MS) await pause(EARLY_MS, undefined, { signal })
    }
  } catch (error) {
    options.signal?.throwIfAborted()
    throw timeout.signal.aborted ? late(last) : error
  } finally {
    clearTimeout(timer)
  }
}

const said = ({ status, status_message, attempt }: Revision) => JSON.stringify([status, status_message, attempt])

const late = (last: Revision | null) => new WaitTimeoutError('The revision has not ended in the time given.', last)
