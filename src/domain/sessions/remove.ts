/** Removes sessions and codes that have ended (docs/operations.md#what-is-kept-and-for-how-long). The log of events still tells of them. */
import { Prisma } from '../../generated/prisma/client.ts'
import { toDeleteOrSkip } from '../repositories/locks.ts'
import type { Db } from '../transaction/context.ts'

/** An open one is still shown for a day. */
export const ENDED_SESSIONS = Prisma.sql`
  SELECT s.id FROM sessions s LEFT JOIN api_keys k ON k.id = s.api_key_id
  WHERE least(s.ended_at, s.expires_at, k.revoked_at, k.expires_at) < now() - interval '1 day'
     OR (s.opened_at IS NULL AND s.code_expires_at < now())`

/** At most so many; answers how many those were. */
export function removeSessions(db: Db, most: number): Promise<number> {
  return db.$executeRaw`
    DELETE FROM sessions WHERE id = ANY (ARRAY(${ENDED_SESSIONS} LIMIT ${most} ${toDeleteOrSkip('s')}))`
}

/**
 * Deletes every session of a restored database. It does not know which sessions were ended after the backup, so a holder of both
 * halves could sign in again (docs/operations.md#backup-and-restore). `query` runs on a connection to that database while no
 * server runs. The database may be of an older version, without sessions.
 */
export async function deleteAllSessions(query: (sql: string) => Promise<unknown[]>): Promise<void> {
  const [found] = await query(`SELECT FROM pg_class WHERE oid = to_regclass('sessions')`)
  if (found) await query('DELETE FROM sessions')
}
