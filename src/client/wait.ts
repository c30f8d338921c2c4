/** Waits by long polls for the end of a revision or a restart: one request a minute, answered when the resource changes. */
import type { Connection } from './connection.ts'
import { WaitTimeoutError } from './errors.ts'
import type { Deployment, Revision } from './openapi.ts'
import { pause } from './retry.ts'

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
  const { deploymentId, revisionId } = options
  const path = { deployment_id: deploymentId, revision_id: revisionId }
  return poll<Revision>(options, {
    read: ({ query, ...request }) =>
      api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}', { params: { path, query }, ...request }),
    isDone: ({ status }) => isTerminal(status),
    progressOf: ({ status, status_message, attempt }) => [status, status_message, attempt],
    lateMessage: 'The revision did not end before the timeout; it continues.',
  })
}

export interface RestartWaitOptions extends Omit<WaitOptions, 'revisionId' | 'onChange'> {
  /** Called when the health has changed. It may miss quick changes. */
  onChange?: (deployment: Deployment) => void
}

/** Returns the deployment when no restart is pending. Throws like waitUntilTerminal(). */
export async function waitUntilRestarted({ api }: Connection, options: RestartWaitOptions): Promise<Deployment> {
  const path = { deployment_id: options.deploymentId }
  return poll<Deployment>(options, {
    read: ({ query, ...request }) =>
      api.GET('/v2/deployments/{deployment_id}', { params: { path, query }, ...request }),
    isDone: ({ restarting }) => !restarting,
    progressOf: ({ health }) => [health?.message, health?.ready],
    lateMessage: 'The restart was not done before the timeout; it continues.',
  })
}

interface PollOptions<T> {
  timeoutMs?: number
  signal?: AbortSignal
  onChange?: (resource: T) => void
}

interface Polled<T> {
  read(request: {
    query: { wait: number }
    headers: Record<string, string>
    signal: AbortSignal
  }): Promise<{ data?: T; response: Response }>
  isDone(resource: T): boolean
  /** `onChange` is called when it changes */
  progressOf(resource: T): unknown[]
  lateMessage: string
}

async function poll<T>(options: PollOptions<T>, { read, isDone, progressOf, lateMessage }: Polled<T>): Promise<T> {
  const { timeoutMs = Number.POSITIVE_INFINITY, onChange } = options
  const deadline = performance.now() + timeoutMs
  const timeout = new AbortController()
  const timer = Number.isFinite(timeoutMs) ? setTimeout(() => timeout.abort(), timeoutMs) : undefined
  const signal = options.signal ? AbortSignal.any([options.signal, timeout.signal]) : timeout.signal
  const late = () => new WaitTimeoutError(lateMessage, last)
  const keyOf = (resource: T) => JSON.stringify(progressOf(resource))
  let last: T | null = null
  let etag: string | null = null
  try {
    for (;;) {
      const startedAt = performance.now()
      const secondsLeft = (deadline - performance.now()) / 1000
      // the first request doesn't wait, so that onChange gets the current status
      const wait = last === null ? 0 : Math.max(0, Math.min(MAX_WAIT_SECONDS, Math.ceil(secondsLeft)))
      const headers: Record<string, string> = etag === null ? {} : { 'If-None-Match': etag }
      const { data, response }: { data?: T; response: Response } = await read({ query: { wait }, headers, signal })
      const changed = data !== undefined && (last === null || keyOf(data) !== keyOf(last))
      if (changed) onChange?.(data)
      if (data) {
        last = data
        etag = response.headers.get('etag')
        if (isDone(data)) return data
      }
      if (performance.now() >= deadline) throw late()
      // a server that stops answers long polls early
      if (!changed && performance.now() - startedAt < MIN_POLL_INTERVAL_MS) await pause(MIN_POLL_INTERVAL_MS, signal)
    }
  } catch (error) {
    options.signal?.throwIfAborted()
    throw timeout.signal.aborted ? late() : error
  } finally {
    clearTimeout(timer)
  }
}
