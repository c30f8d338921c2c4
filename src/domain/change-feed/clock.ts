/** Announces changes that only time causes: expired leases, and listeners that fall silent or call again. */
import { Prisma } from '../../generated/prisma/client.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'
import { type Statement, transaction, type WriteCore } from '../transaction/context.ts'
import { holderOf } from '../values/event-types.ts'

/** Maximum length of a lease (domain/protocol). `lease_due_at` is never after its end. */
const MAX_LEASE_SECONDS = 600

/** Maximum time of a row lock, by the timeouts of statements and transactions (platform/postgres/client.ts). */
const MAX_LOCK_SECONDS = 60

/** How often the mark moves when no lease ended, so the searched range stays small. */
const MARK_INTERVAL_SECONDS = 60

const MAX_LISTENERS = 100

/**
 * Runs one round. Without changes it is one statement that writes nothing. `silentBefore`: a listener whose last call was
 * before this time is silent.
 */
export async function announceClockChanges(core: WriteCore, silentBefore: Date): Promise<void> {
  const found = await core.query<{ id: string | null; since: string | null }>(FIND_CLOCK_CHANGES, [silentBefore])
  for (const { id, since } of found)
    if (since !== null) await core.query(ANNOUNCE_ENDED_LEASES, [since])
    else await announceListener(core, id!, silentBefore)
}

/** SQL condition: an active deployment whose lease ended after `since`, cut to milliseconds as Postgres stores it. */
const ended = (since: string) => `
  d.torn_down_at IS NULL AND d.active_revision_id IS NOT NULL
  AND d.lease_due_at > ${since} - make_interval(secs => ${MAX_LEASE_SECONDS}) AND d.lease_due_at <= now()
  AND d.lease_expires_at > ${since} AND d.lease_expires_at <= date_trunc('milliseconds', now())`

/** Returns `since`, the mark, if leases ended after it; and `id` of listeners that became silent or called again. $1: a last call before this time means silent. */
const FIND_CLOCK_CHANGES: Statement = {
  name: 'look at the clock',
  text: `
    WITH told AS MATERIALIZED (SELECT until FROM lapses_told WHERE one)
    (SELECT NULL AS id, told.until::text AS since FROM told
     WHERE told.until < now() - interval '${MARK_INTERVAL_SECONDS} s' OR EXISTS (SELECT FROM deployments d WHERE ${ended('told.until')}))
    UNION ALL
    (SELECT l.id::text, NULL FROM listeners l
     WHERE NOT l.told_silent AND coalesce(l.last_seen_at, l.created_at) < $1::timestamptz LIMIT ${MAX_LISTENERS})
    UNION ALL
    (SELECT l.id::text, NULL FROM listeners l
     WHERE l.told_silent AND coalesce(l.last_seen_at, l.created_at) >= $1::timestamptz LIMIT ${MAX_LISTENERS})`,
}

/**
 * Announces leases that ended since $1, and moves the mark. Of several servers only the one that finds the mark at $1 announces.
 * The mark stays before the end of a lease whose row is locked, because its renewal may be committed next; the next round looks
 * again. The same holds for a lease that was renewed between the search and the lock.
 */
const ANNOUNCE_ENDED_LEASES: Statement = {
  name: 'tell of ended leases',
  text: `
    WITH lapsed AS MATERIALIZED (SELECT d.id, d.lease_expires_at FROM deployments d WHERE ${ended('$1::timestamptz')}),
    free AS MATERIALIZED (
      SELECT d.id, d.workspace_id, d.lease_expires_at FROM deployments d
      WHERE d.id IN (SELECT id FROM lapsed) AND ${ended('$1::timestamptz')} ${toChangeOrSkip('d').sql}
    ), told AS (
      UPDATE lapses_told SET until = coalesce(
        (SELECT min(lease_expires_at) - interval '1 ms' FROM lapsed
         WHERE id NOT IN (SELECT id FROM free) AND lease_expires_at > now() - interval '${MAX_LOCK_SECONDS} s'),
        date_trunc('milliseconds', now()))
      WHERE one AND until = $1::timestamptz RETURNING until
    )
    INSERT INTO deployment_news (workspace_id, deployment_id)
    SELECT free.workspace_id, free.id FROM told, free WHERE free.lease_expires_at <= told.until`,
}

/** Checks again under the lock: another server may have announced it, or it called. A locked row is left to the next round. */
function announceListener(core: WriteCore, id: string, silentBefore: Date): Promise<void> {
  const isSilent = Prisma.sql`(coalesce(l.last_seen_at, l.created_at) < ${silentBefore})`
  return transaction(core, async (tx) => {
    const [told] = await tx.sql.$queryRaw<{ workspaceId: string; silent: boolean }[]>`
      UPDATE listeners SET told_silent = now_is.silent
      FROM (
        SELECT l.id, ${isSilent} AS silent FROM listeners l
        WHERE l.id = ${id}::uuid AND l.told_silent <> ${isSilent} ${toChangeOrSkip('l')}
      ) AS now_is
      WHERE listeners.id = now_is.id RETURNING listeners.workspace_id::text AS "workspaceId", now_is.silent`
    if (!told) return
    const { workspaceId, silent } = told
    if (silent) tx.emit({ workspaceId, type: 'listener.silent', subjectId: id })
    else tx.emit({ workspaceId, type: 'listener.heard', subjectId: id, actor: holderOf(id) })
  })
}
