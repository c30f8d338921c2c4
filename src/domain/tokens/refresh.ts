/**
 * Refreshes a token exactly once, however many ask for it at the same time, here or on other servers: one holds the
 * lease (refresh-lease.ts), everybody reads in the row what came of it, and shares that, also when it failed.
 */
import type { Core } from '../context.ts'
import { lookUntil } from '../news.ts'
import { overOrAborted } from '../under-way.ts'
import { beginRefresh } from './refresh-attempt.ts'
import { endLapsed } from './refresh-lease.ts'
import { findStored, type StoredToken } from './stored.ts'

export type Outcome =
  /** there is a newer access token than the one that was seen */
  | { kind: 'fresh' }
  /** it can't be refreshed any more */
  | { kind: 'ended' }
  /** it was deleted */
  | { kind: 'gone' }
  /** the provider was asked in vain, or is not asked again yet */
  | { kind: 'failed'; why: string }
  /** nobody knows yet */
  | { kind: 'waiting' }
  /** this server is about to stop, and begins nothing */
  | { kind: 'stopping' }

/**
 * `seen`: the token that is to be refreshed, as it was read. Waits `seconds` at most, or until `signal` aborts; what
 * has begun goes on without whoever waited for it.
 */
export async function refreshToken(
  core: Core,
  seen: StoredToken,
  seconds: number,
  signal?: AbortSignal,
): Promise<Outcome> {
  const late = new AbortController()
  // the timer holds the controller: a signal below AbortSignal.any alone may be collected, and would never abort
  const timer = setTimeout(() => late.abort(), seconds * 1000)
  const over = signal ? AbortSignal.any([signal, late.signal]) : late.signal
  try {
    const outcome = await lookUntil(core.oauthNews, seen.id, seconds, over, () => look(core, seen, over))
    return outcome ?? { kind: 'waiting' }
  } finally {
    clearTimeout(timer)
  }
}

/** Begins the refresh if nobody has, and stays with it while it is this server's. Null: nobody knows yet. */
async function look(core: Core, seen: StoredToken, over: AbortSignal): Promise<Outcome | null> {
  for (;;) {
    const token = await findStored(core, seen.id)
    const known = outcomeOf(token, seen)
    if (known) return known
    const { held, lapsed } = token!
    // nobody has died: this server has yet to hear, or to write down, what came of it
    const ours = lapsed && core.underWay.of(seen.id) !== undefined
    if (!ours && (await endedByLapse(core, token!))) continue
    if (!held && !ours) {
      if (core.underWay.closed) return { kind: 'stopping' }
      await beginRefresh(core, token!)
    }
    const running = core.underWay.of(seen.id)
    if (!running) return null
    await overOrAborted(running, over)
    if (over.aborted) return null
  }
}

function outcomeOf(token: StoredToken | null, seen: StoredToken): Outcome | null {
  if (!token) return { kind: 'gone' }
  if (token.endedAt) return { kind: 'ended' }
  if (token.version > seen.version) return { kind: 'fresh' }
  // a failure is never written down without its reason
  if (token.backingOff || token.refreshFailures > seen.refreshFailures)
    return { kind: 'failed', why: token.refreshError! }
  return null
}

async function endedByLapse(core: Core, token: StoredToken): Promise<boolean> {
  return token.lapsed && token.rotates !== false && endLapsed(core, token)
}
