/**
 * The table of outcomes, and the lock that is held while one is being made: an advisory one of (caller, key), which ends
 * with the transaction, whatever becomes of its server. An entry holds for a day by the database's clock.
 */
import { createHash } from 'node:crypto'
import { Prisma } from '../../generated/prisma/client.ts'
import { toDeleteOrSkip } from '../repositories/locks.ts'
import type { Query } from '../sql/prepared-statement.ts'
import type { Db } from '../transaction/context.ts'
import type { Entry } from '../transaction/idempotency.ts'

/** Hours for which a repeat is answered. */
const RETENTION_HOURS = 24

/** Whose key: two callers with equal keys know nothing of each other. */
export interface CallerKey {
  workspaceId: string
  subject: string
  key: string
}

export interface StoredEntry extends Entry {
  position: string
  requestHash: string
}

/** The moment before which an entry was made that holds no more. */
const EXPIRY_TIME = `now() - interval '${RETENTION_HOURS} hours'`

/** By which the key is known in the memory of a server. */
export const lockName = ({ workspaceId, subject, key }: CallerKey) => JSON.stringify([workspaceId, subject, key])

const ENTRIES = {
  name: 'idempotency entries',
  text: `
    SELECT position, request_hash AS "requestHash", status, answer, secret_set_id AS "secretSetId" FROM idempotency_entries
    WHERE workspace_id = $1::uuid AND subject = $2 AND key = $3 AND created_at > ${EXPIRY_TIME}`,
}

/** What was stored under a key. */
export function findEntries(query: Query, { workspaceId, subject, key }: CallerKey): Promise<StoredEntry[]> {
  return query(ENTRIES, [workspaceId, subject, key])
}

const LOCKED = {
  name: 'idempotency entries locked',
  text: `SELECT idempotency_entries_locked($1::bigint, $2::uuid, $3, $4, $5, interval '${RETENTION_HOURS} hours') AS entries`,
}

/**
 * The same, once this transaction may work under the key; nobody waits. Of entries other than that at `position` the answers are
 * empty. Null: somebody else is working under it. One statement, which sees what was committed before it had the lock.
 */
export async function lockEntries(query: Query, of: CallerKey, position: string): Promise<StoredEntry[] | null> {
  const number = createHash('sha256').update(lockName(of)).digest().readBigInt64BE()
  const values = [String(number), of.workspaceId, of.subject, of.key, position]
  const [row] = await query<{ entries: StoredEntry[] | null }>(LOCKED, values)
  return row!.entries
}

/** Whether there are entries that hold no more. */
export const EXPIRED_ENTRIES = Prisma.raw(`SELECT 1 FROM idempotency_entries WHERE created_at <= ${EXPIRY_TIME}`)

/** Removes so many of them at most, and says how many those were. Who is replacing one keeps it. */
export function removeExpired(db: Db, most: number): Promise<number> {
  return db.$executeRaw`
    DELETE FROM idempotency_entries WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM idempotency_entries WHERE created_at <= ${Prisma.raw(EXPIRY_TIME)}
      ORDER BY created_at LIMIT ${most} ${toDeleteOrSkip('idempotency_entries')}))`
}

const INSERT = {
  name: 'insert idempotency entry',
  text: `
    INSERT INTO idempotency_entries (workspace_id, subject, key, position, request_hash, status, answer, secret_set_id)
    VALUES ($1::uuid, $2, $3, $4, $5, $6, $7, $8::uuid)
    ON CONFLICT (workspace_id, subject, key, position) DO UPDATE
      SET request_hash = excluded.request_hash, status = excluded.status, answer = excluded.answer,
          secret_set_id = excluded.secret_set_id, created_at = excluded.created_at
      WHERE idempotency_entries.created_at <= ${EXPIRY_TIME}
    RETURNING 1`,
}

/** The key has to be locked. One that holds no more is replaced. */
export async function insertEntry(query: Query, of: CallerKey, entry: StoredEntry): Promise<void> {
  const { position, requestHash, status, answer, secretSetId } = entry
  const { workspaceId, subject, key } = of
  const values = [workspaceId, subject, key, position, requestHash, status, answer, secretSetId]
  if ((await query(INSERT, values)).length === 0) throw new Error('an outcome was stored under a key that was locked')
}
