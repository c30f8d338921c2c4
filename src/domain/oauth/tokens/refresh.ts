/** Single-flight refresh across all servers: one sends the request, all callers read the outcome (../README.md). */
import { doneOrAborted } from '../../../platform/async/in-flight.ts'
import { longPoll } from '../../../platform/async/long-poll.ts'
import { withTimeout } from '../../../platform/async/time-limit.ts'
import type { Core } from '../../transaction/context.ts'
import { beginRefresh } from './refresh-attempt.ts'
import { endAbandonedToken } from './refresh-lease.ts'
import { readSnapshot, type TokenSnapshot } from './token-snapshot.ts'

export type RefreshOutcome =
  | { kind: 'fresh' }
  | { kind: 'ended' }
  | { kind: 'gone' }
  /** the provider refused or failed, or the backoff is not over */
  | { kind: 'failed'; why: string }
  | { kind: 'waiting' }
  /** this server is stopping and starts no refresh */
  | { kind: 'stopping' }

/** `stale`: the token as it was read. Waits at most `seconds`, or until `signal` aborts; a started refresh continues. */
export async function refreshToken(
  core: Core,
  stale: TokenSnapshot,
  seconds: number,
  signal?: AbortSignal,
): Promise<RefreshOutcome> {
  const outcome = await withTimeout(seconds * 1000, signal, (over) =>
    longPoll(core.oauthNotifier, stale.id, seconds, over, () => refreshOrJoin(core, stale, over)),
  )
  return outcome ?? { kind: 'waiting' }
}

/** Starts the refresh or joins this server's running one. Null: no outcome yet. */
async function refreshOrJoin(core: Core, stale: TokenSnapshot, over: AbortSignal): Promise<RefreshOutcome | null> {
  for (;;) {
    const token = await readSnapshot(core, stale.id)
    const known = outcomeOf(token, stale)
    if (known) return known
    const { refreshing, abandoned } = token!
    // The lease expired, but this server holds it and is about to store the outcome.
    const ours = abandoned && core.inFlight.pending(stale.id) !== undefined
    if (!ours && (await endIfAbandoned(core, token!))) continue
    if (!refreshing && !ours) {
      if (core.inFlight.closed) return { kind: 'stopping' }
      await beginRefresh(core, token!)
    }
    const running = core.inFlight.pending(stale.id)
    if (!running) return null
    await doneOrAborted(running, over)
    if (over.aborted) return null
  }
}

function outcomeOf(token: TokenSnapshot | null, stale: TokenSnapshot): RefreshOutcome | null {
  if (!token) return { kind: 'gone' }
  if (token.endedAt) return { kind: 'ended' }
  if (token.version > stale.version) return { kind: 'fresh' }
  // a failure is always stored with its reason
  if (token.backingOff || token.refreshFailures > stale.refreshFailures)
    return { kind: 'failed', why: token.refreshError! }
  return null
}

async function endIfAbandoned(core: Core, token: TokenSnapshot): Promise<boolean> {
  return token.abandoned && token.rotates !== false && endAbandonedToken(core, token)
}
