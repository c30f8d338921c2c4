/** Long polls (docs/api-rules.md#waiting). They read once, and again after an event; equal polls share a read. */
import { backoff, sleep } from '../../platform/async/retry.ts'
import { AbortScope } from '../../platform/async/time-limit.ts'
import type { ChangeScope, ChangeSource } from '../concurrency/change-watch.ts'
import { takeSlot } from '../concurrency/concurrency-limit.ts'
import { databaseFailure } from '../errors/database-error.ts'
import { isTerminal } from '../values/lifecycle.ts'
import type { RequestContext } from './context.ts'

export interface Wait<T> {
  seconds: number // 0 to 60
  /** whose changes to read after: all of them `withoutEvent`, otherwise only the end of a revision's work */
  scope: ChangeScope
  /** names the result of `read` within the workspace, for any caller */
  key: string
  read(): Promise<T>
  done(found: T): boolean
}

const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 2_000

/**
 * Reads until `done`, and returns the last result when the time is up or the server stops. During a database outage it
 * keeps waiting, and throws the error when the time is up. Throws what `read` throws, RATE_LIMITED if too many calls
 * wait, and UnauthenticatedError if the credential ends.
 */
export async function waitUntil<T>(ctx: RequestContext, wait: Wait<T>): Promise<T> {
  const { changes } = ctx
  if (wait.seconds === 0 || !changes) return wait.read()
  const take = () => takeSlot(ctx, 'waits')
  return whileValid(ctx, take, (signal, enter) => poll(changes, ctx.workspace.id, wait, signal, enter))
}

/** `signal`: the client has disconnected, or its credential has ended. */
async function poll<T>(
  changes: ChangeSource,
  workspaceId: string,
  wait: Wait<T>,
  signal: AbortSignal,
  enter: () => () => void,
): Promise<T> {
  /** also aborts when the time is up or the server stops; the call then reads once more */
  const over = new AbortScope(signal)
  let due = false
  let wake = () => {}
  /** resolves when a read is due or the wait is over */
  const woken = () => {
    if (due || over.signal.aborted) return Promise.resolve()
    return new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  over.signal.addEventListener('abort', () => wake())
  over.limit(wait.seconds * 1000)
  // watch before the first read, so no change is missed
  const watch = changes.watch(workspaceId, wait.scope, {
    onChange(toStatus) {
      if (!wait.scope.withoutEvent && (toStatus === null || !isTerminal(toStatus))) return
      due = true
      wake()
    },
    onStop: () => over.abort(null),
  })
  const look = () => {
    due = false
    return changes.shared(`${workspaceId} ${wait.key}`, wait.read)
  }
  let leave = () => {}
  try {
    await Promise.race([watch.ready, woken()])
    let found = await look()
    if (over.signal.aborted || wait.done(found)) return found
    leave = enter()
    for (let failures = 0; ; ) {
      await woken()
      if (signal.aborted) return found
      try {
        found = await look()
        if (over.signal.aborted || wait.done(found)) return found
        failures = 0
      } catch (error) {
        if (over.signal.aborted || databaseFailure(error) === null) throw error
        due = true
        await sleep(backoff(failures++, MIN_PAUSE_MS, MAX_PAUSE_MS, 0.5), over.signal)
      }
    }
  } finally {
    over.end()
    watch.close()
    leave()
  }
}

/** `work` polls until `signal` aborts, and calls `enter` before it waits. Throws UnauthenticatedError. */
export async function whileValid<T, Leave extends (() => void) | null>(
  ctx: RequestContext,
  take: () => Leave,
  work: (signal: AbortSignal, enter: () => (() => void) | (Leave & null)) => Promise<T>,
): Promise<T> {
  const scope = new AbortScope(ctx.client?.gone)
  let refused: Error | null = null
  const enter = () => {
    const leave = take()
    if (!leave) return leave as Leave & null
    const unwatch = ctx.credentials?.watch(ctx, (error) => {
      refused = error
      scope.abort(error)
    })
    return () => {
      unwatch?.()
      leave()
    }
  }
  try {
    const found = await work(scope.signal, enter)
    if (refused) throw refused
    return found
  } finally {
    scope.end()
  }
}
