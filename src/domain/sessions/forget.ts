/**
 * Forgets every session, of a database that was brought back: it knows nothing of those that have been ended since it was saved, and who
 * still has the halves of one would be signed in again (docs/operations.md#backup-and-restore).
 */

/** On a connection to it. No server may be running; it may be of an older version, which has no sessions. */
export async function forgetSessions(query: (sql: string) => Promise<unknown[]>): Promise<void> {
  const [found] = await query(`SELECT FROM pg_class WHERE oid = to_regclass('sessions')`)
  if (found) await query('DELETE FROM sessions')
}
