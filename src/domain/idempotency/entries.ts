/**
 * The table of outcomes, and the lock that is held while one is being made: an advisory one of (caller, key), which ends
 * with the transaction, whatever becomes of its server. An entry holds for a day by the database's clock.
 */
import { createHash } from 'node:crypto'
import { Prisma } from '../../generated/prisma/client.ts'
import type { Db, Sql } from '../context/context.ts'
import type { Entry } from '../context/idempotency.ts'
import { toDeleteOrSkip } from '../rows/locks.ts'

/** Hours for which a repeat is answered. */
const HOURS = 24

/** Whose key: two callers with equal keys know nothing of each other. */
export interface KeyOfCaller {
  workspaceId: string
  subject: string
  key: string
}

export interface StoredEntry extends Entry {
  position: string
  requestHash: string
}

/** The moment before which an entry was made that holds no more. */
const EXPIRED = Prisma.sql`now() - make_interval(hours => ${HOURS}::int)`

/** By which the key is known in the memory of a server. */
export const nameOf = ({ workspaceId, subject, key }: KeyOfCaller) => JSON.stringify([workspaceId, subject, key])

/** What was stored under a key. `position`: only this one's answer is needed; those of the others are empty. */
export function entriesOf(sql: Db | Sql, of: KeyOfCaller, position?: string): Promise<StoredEntry[]> {
  const { workspaceId, subject, key } = of
  const answer =
    position === undefined
      ? Prisma.sql`answer`
      : Prisma.sql`CASE WHEN position = ${position} THEN answer ELSE '' END AS answer`
  return sql.$queryRaw`
    SELECT position, request_hash AS "requestHash", status, ${answer}, secret_set_id AS "secretSetId" FROM idempotency_entries
    WHERE workspace_id = ${workspaceId}::uuid AND subject = ${subject} AND key = ${key} AND created_at > ${EXPIRED}`
}

/** Whether this transaction may work under the key: nobody waits. Look for entries after it, in a statement of its own, which sees what was committed before. */
export async function lockKey(sql: Sql, of: KeyOfCaller): Promise<boolean> {
  const number = createHash('sha256').update(nameOf(of)).digest().readBigInt64BE()
  const [row] = await sql.$queryRaw<
    { locked: boolean }[]
  >`SELECT pg_try_advisory_xact_lock(${number}::bigint) AS locked`
  return row!.locked
}

/** Whether there are entries that hold no more. */
export const EXPIRED_ENTRIES = Prisma.sql`SELECT 1 FROM idempotency_entries WHERE created_at <= ${EXPIRED}`

/** Removes so many of them at most, and says how many those were. Who is replacing one keeps it. */
export function removeExpired(db: Db, most: number): Promise<number> {
  return db.$executeRaw`
    DELETE FROM idempotency_entries WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM idempotency_entries WHERE created_at <= ${EXPIRED}
      ORDER BY created_at LIMIT ${most} ${toDeleteOrSkip('idempotency_entries')}))`
}

/** The key has to be locked. One that holds no more is replaced. */
export async function insertEntry(sql: Sql, of: KeyOfCaller, entry: StoredEntry): Promise<void> {
  const { position, requestHash, status, answer, secretSetId } = entry
  const inserted = await sql.$executeRaw`
    INSERT INTO idempotency_entries (workspace_id, subject, key, position, request_hash, status, answer, secret_set_id)
    VALUES (${of.workspaceId}::uuid, ${of.subject}, ${of.key}, ${position}, ${requestHash}, ${status}, ${answer}, ${secretSetId}::uuid)
    ON CONFLICT (workspace_id, subject, key, position) DO UPDATE
      SET request_hash = excluded.request_hash, status = excluded.status, answer = excluded.answer,
          secret_set_id = excluded.secret_set_id, created_at = excluded.created_at
      WHERE idempotency_entries.created_at <= ${EXPIRED}`
  if (inserted === 0) throw new Error('an outcome was stored under a key that was locked')
}
