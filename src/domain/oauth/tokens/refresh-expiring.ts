/** The job that refreshes tokens before they expire, so agents do not wait. */
import { doneOrAborted } from '../../../platform/async/in-flight.ts'
import type { Core } from '../../transaction/context.ts'
import { beginRefresh } from './refresh-attempt.ts'
import { expiresWithin } from './token-snapshot.ts'

const REFRESH_AHEAD_SECONDS = 300
/** Tokens unused for longer wait for an agent's request. */
const IN_USE_HOURS = 24
const BATCH_ROWS = 50
const CONCURRENCY = 4

/** Runs one round. Safe on several servers, because the lease decides. Starts nothing new after `signal` aborts. */
export async function refreshExpiring(core: Core, signal: AbortSignal): Promise<void> {
  const due = await core.db.$queryRaw<{ id: string; version: number }[]>`
    SELECT t.id, t.version FROM oauth_tokens t
    WHERE t.refreshable AND t.ended_at IS NULL
      AND t.expires_at <= clock_timestamp() + make_interval(secs => ${REFRESH_AHEAD_SECONDS}::float8) AND ${expiresWithin(REFRESH_AHEAD_SECONDS)}
      AND t.used_at > clock_timestamp() - make_interval(hours => ${IN_USE_HOURS}::int)
      AND (t.refresh_after IS NULL OR t.refresh_after <= clock_timestamp())
      AND (t.refresh_id IS NULL OR (t.refresh_until <= clock_timestamp() AND t.rotates IS FALSE))
      AND EXISTS (SELECT 1 FROM agent_connections c WHERE c.token_id = t.id)
    ORDER BY t.expires_at LIMIT ${BATCH_ROWS}::int`
  const work = async () => {
    for (let next = due.shift(); next && !signal.aborted && !core.inFlight.closed; next = due.shift()) {
      await beginRefresh(core, next)
      const running = core.inFlight.pending(next.id)
      if (running) await doneOrAborted(running, signal)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}
