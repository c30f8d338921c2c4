/** Waits for the end of a revision by long polls: one request a minute, answered when the revision changes. */
import type { Connection } from './connection.ts'
import { WaitTimeoutError } from './errors.ts'
import type { Revision } from './openapi.ts'
import { pause } from './pause.ts'

export interface WaitOptions {
  deploymentId: string
  revisionId: string
  /** for the whole call; default: unlimited */
  timeoutMs?: number
  signal?: AbortSignal
  /** Called when the status or message has changed. It may miss quick changes. */
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

/** Whether work on a revision has ended. Only a redeploy leaves a terminal status. */
export const isTerminal = (status: string): boolean => TERMINAL.has(status)

/** The next request waits this long if an unchanged answer came sooner. */
const MIN_POLL_INTERVAL_MS = 200
const MAX_WAIT_SECONDS = 60

/**
 * Returns the revision when it has ended, with any outcome. Throws WaitTimeoutError with the last seen revision, PilothouseError (404,
 * 401, …), UnreachableError and the reason of `signal`.
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
      const startedAt = performance.now()
      const secondsLeft = (deadline - performance.now()) / 1000
      // the first request doesn't wait, so that onChange gets the current status
      const wait: number = last === null ? 0 : Math.max(0, Math.min(MAX_WAIT_SECONDS, Math.ceil(secondsLeft)))
      const { data, response }: { data?: Revision; response: Response } = await api.GET(
        '/v2/deployments/{deployment_id}/revisions/{revision_id}',
        {
          params: { path, query: { wait } },
          headers: etag === null ? {} : { 'If-None-Match': etag },
          signal,
        },
      )
      const changed = data !== undefined && (last === null || progressKey(data) !== progressKey(last))
      if (changed) onChange?.(data)
      if (data) {
        last = data
        etag = response.headers.get('etag')
        if (isTerminal(data.status)) return data
      }
      if (performance.now() >= deadline) throw timeoutError(last)
      // a server that stops answers long polls early
      if (!changed && performance.now() - startedAt < MIN_POLL_INTERVAL_MS) await pause(MIN_POLL_INTERVAL_MS, signal)
    }
  } catch (error) {
    options.signal?.throwIfAborted()
    throw timeout.signal.aborted ? timeoutError(last) : error
  } finally {
    clearTimeout(timer)
  }
}

const progressKey = ({ status, status_message, attempt }: Revision) => JSON.stringify([status, status_message, attempt])

const timeoutError = (last: Revision | null) =>
  new WaitTimeoutError('The revision did not end before the timeout; it continues.', last)
