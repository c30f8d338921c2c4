/** Removes ended sessions and expired codes (docs/operations.md#what-is-kept-and-for-how-long). Their events stay in the log. */
import { Prisma } from '../../generated/prisma/client.ts'
import { toDeleteOrSkip } from '../repositories/locks.ts'
import type { Db } from '../transaction/context.ts'

/** An opened session stays visible for a day after its end. */
export const ENDED_SESSIONS = Prisma.sql`
  SELECT s.id FROM sessions s LEFT JOIN api_keys k ON k.id = s.api_key_id
  WHERE least(s.ended_at, s.expires_at, k.revoked_at, k.expires_at) < now() - interval '1 day'
     OR (s.opened_at IS NULL AND s.code_expires_at < now())`

export function removeSessions(db: Db, most: number): Promise<number> {
  return db.$executeRaw`
    DELETE FROM sessions WHERE id = ANY (ARRAY(${ENDED_SESSIONS} LIMIT ${most} ${toDeleteOrSkip('s')}))`
}

/**
 * Deletes all sessions of a restored database. It does not know which sessions ended after the backup, so they would be valid
 * again (docs/operations.md#backup-and-restore). No server may run. An older version's database has no sessions table.
 */
export async function deleteAllSessions(query: (sql: string) => Promise<unknown[]>): Promise<void> {
  const [found] = await query(`SELECT FROM pg_class WHERE oid = to_regclass('sessions')`)
  if (found) await query('DELETE FROM sessions')
}
