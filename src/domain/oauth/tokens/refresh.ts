/**
 * Single-flight refresh: however many callers, on however many servers, want a token refreshed at the same time, the
 * provider is asked once. One server holds the lease (refresh-lease.ts); all callers read the outcome, success or
 * failure, from the row.
 */
import { overOrAborted } from '../../../platform/async/in-flight.ts'
import { lookUntil } from '../../../platform/async/long-poll.ts'
import { limited } from '../../../platform/async/time-limit.ts'
import type { Core } from '../../transaction/context.ts'
import { beginRefresh } from './refresh-attempt.ts'
import { endAbandonedToken } from './refresh-lease.ts'
import { readSnapshot, type TokenSnapshot } from './token-snapshot.ts'

export type RefreshOutcome =
  /** there is a newer access token */
  | { kind: 'fresh' }
  /** it can't be refreshed any more */
  | { kind: 'ended' }
  /** it was deleted */
  | { kind: 'gone' }
  /** the provider was asked and did not refresh it, or is not asked again yet */
  | { kind: 'failed'; why: string }
  /** the outcome is not known yet */
  | { kind: 'waiting' }
  /** this server is stopping, and starts nothing new */
  | { kind: 'stopping' }

/**
 * `stale`: the token to refresh, as it was read. Waits `seconds` at most, or until `signal` aborts; a refresh that has
 * begun goes on regardless.
 */
export async function refreshToken(
  core: Core,
  stale: TokenSnapshot,
  seconds: number,
  signal?: AbortSignal,
): Promise<RefreshOutcome> {
  const outcome = await limited(seconds * 1000, signal, (over) =>
    lookUntil(core.oauthNotifier, stale.id, seconds, over, () => refreshOrJoin(core, stale, over)),
  )
  return outcome ?? { kind: 'waiting' }
}

/** One look: starts the refresh if nobody has, and waits for it if it is this server's. Null: the outcome is not known yet. */
async function refreshOrJoin(core: Core, stale: TokenSnapshot, over: AbortSignal): Promise<RefreshOutcome | null> {
  for (;;) {
    const token = await readSnapshot(core, stale.id)
    const known = outcomeOf(token, stale)
    if (known) return known
    const { refreshing, abandoned } = token!
    // the lease has run out, but its holder is this very server, which is about to write the outcome
    const ours = abandoned && core.inFlight.of(stale.id) !== undefined
    if (!ours && (await endIfAbandoned(core, token!))) continue
    if (!refreshing && !ours) {
      if (core.inFlight.closed) return { kind: 'stopping' }
      await beginRefresh(core, token!)
    }
    const running = core.inFlight.of(stale.id)
    if (!running) return null
    await overOrAborted(running, over)
    if (over.aborted) return null
  }
}

function outcomeOf(token: TokenSnapshot | null, stale: TokenSnapshot): RefreshOutcome | null {
  if (!token) return { kind: 'gone' }
  if (token.endedAt) return { kind: 'ended' }
  if (token.version > stale.version) return { kind: 'fresh' }
  // a failure is never stored without its reason
  if (token.backingOff || token.refreshFailures > stale.refreshFailures)
    return { kind: 'failed', why: token.refreshError! }
  return null
}

async function endIfAbandoned(core: Core, token: TokenSnapshot): Promise<boolean> {
  return token.abandoned && token.rotates !== false && endAbandonedToken(core, token)
}
