/** Refreshes what agents use before it expires, so that they needn't wait for it. */
import type { Core } from '../context.ts'
import { overOrAborted } from '../under-way.ts'
import { beginRefresh } from './refresh-attempt.ts'
import { expiresWithin } from './stored.ts'

/** seconds */
const AHEAD = 300
/** hours: a token that no agent wants is left alone until one does */
const IN_USE = 24
const A_ROUND = 50
const AT_ONCE = 4

/**
 * One round. Safe on several servers at once: each token is refreshed by one of them. Once `signal` aborts nothing new
 * is begun.
 */
export async function refreshExpiring(core: Core, signal: AbortSignal): Promise<void> {
  const due = await core.db.$queryRaw<{ id: string; version: number }[]>`
    SELECT t.id, t.version FROM oauth_tokens t
    WHERE t.refreshable AND t.ended_at IS NULL
      AND t.expires_at <= clock_timestamp() + make_interval(secs => ${AHEAD}::float8) AND ${expiresWithin(AHEAD)}
      AND t.used_at > clock_timestamp() - make_interval(hours => ${IN_USE}::int)
      AND (t.refresh_after IS NULL OR t.refresh_after <= clock_timestamp())
      AND (t.refresh_id IS NULL OR (t.refresh_until <= clock_timestamp() AND t.rotates IS FALSE))
      AND EXISTS (SELECT 1 FROM agent_connections c WHERE c.token_id = t.id)
    ORDER BY t.expires_at LIMIT ${A_ROUND}::int`
  const work = async () => {
    for (let next = due.shift(); next && !signal.aborted && !core.underWay.closed; next = due.shift()) {
      await beginRefresh(core, next)
      const running = core.underWay.of(next.id)
      if (running) await overOrAborted(running, signal)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}
