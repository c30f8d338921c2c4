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
  | { kind: 'ended'; because: string | null }
  /** it was deleted */
  | { kind: 'gone' }
  /** the provider was asked in vain, or is not asked again yet */
  | { kind: 'failed' }
  /** nobody knows yet */
  | { kind: 'waiting' }
  /** this server is about to stop, and begins nothing */
  | { kind: 'stopping' }

/**
 * `seen`: the token that is to be refreshed, as it was read. Waits `seconds` at most, or until `signal` aborts; what has begun goes on
 * without whoever waited for it.
 */
export async function refreshToken(
  core: Core,
  seen: StoredToken,
  seconds: number,
  signal?: AbortSignal,
): Promise<Outcome> {
  const time = AbortSignal.timeout(seconds * 1000)
  const over = signal ? AbortSignal.any([signal, time]) : time
  const outcome = await lookUntil<Outcome>(core.oauthNews, seen.id, seconds, over, async () => {
    for (;;) {
      const token = await findStored(core, seen.id)
      const known = outcomeOf(token, seen)
      if (known) return known
      if (await endedByLapse(core, token!)) continue
      if (!token!.held && core.underWay.closed) return { kind: 'stopping' }
      if (!token!.held) await beginRefresh(core, token!)
      const running = core.underWay.of(seen.id)
      if (!running) return null
      await overOrAborted(running, over)
      if (over.aborted) return null
    }
  })
  return outcome ?? { kind: 'waiting' }
}

function outcomeOf(token: StoredToken | null, seen: StoredToken): Outcome | null {
  if (!token) return { kind: 'gone' }
  if (token.endedAt) return { kind: 'ended', because: token.endedBecause }
  if (token.version > seen.version) return { kind: 'fresh' }
  if (token.backingOff || token.refreshFailures > seen.refreshFailures) return { kind: 'failed' }
  return null
}

async function endedByLapse(core: Core, token: StoredToken): Promise<boolean> {
  return token.lapsed && token.rotates !== false && endLapsed(core, token)
}
