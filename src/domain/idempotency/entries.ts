/**
 * The table of stored outcomes, the advisory lock on a caller's key (README.md), and the signature of a request, to recognise a
 * repeat. A bare hash would let readers of the database guess the request's secrets.
 */
import { createHash } from 'node:crypto'
import { Prisma } from '../../generated/prisma/client.ts'
import type { KeyRing } from '../crypto/keyring.ts'
import type { Query } from '../paging/statements.ts'
import { toDeleteOrSkip } from '../repositories/locks.ts'
import type { Db } from '../transaction/context.ts'
import type { Entry } from '../transaction/idempotency.ts'

const RETENTION_HOURS = 24

/** Callers don't share keys: equal keys of two callers are independent. */
export interface CallerKey {
  workspaceId: string
  subject: string
  key: string
}

export interface StoredEntry extends Entry {
  position: string
  requestHash: string
}

/** Entries made before it have expired. */
const EXPIRY_TIME = `now() - interval '${RETENTION_HOURS} hours'`

/** Identifies a key in a server's memory. */
export const lockName = ({ workspaceId, subject, key }: CallerKey) => JSON.stringify([workspaceId, subject, key])

const ENTRIES = {
  name: 'idempotency entries',
  text: `
    SELECT position, request_hash AS "requestHash", status, answer, secret_set_id AS "secretSetId" FROM idempotency_entries
    WHERE workspace_id = $1::uuid AND subject = $2 AND key = $3 AND created_at > ${EXPIRY_TIME}`,
}

/** The outcomes stored under a key. */
export function findEntries(query: Query, { workspaceId, subject, key }: CallerKey): Promise<StoredEntry[]> {
  return query(ENTRIES, [workspaceId, subject, key])
}

const LOCKED = {
  name: 'idempotency entries locked',
  text: `SELECT idempotency_entries_locked($1::bigint, $2::uuid, $3, $4, $5, interval '${RETENTION_HOURS} hours') AS entries`,
}

/**
 * Locks the key for this transaction without waiting, and returns its entries; null: another transaction has the lock. Only
 * the entry at `position` has its answer. One statement, which sees all commits before the lock.
 */
export async function lockEntries(query: Query, owner: CallerKey, position: string): Promise<StoredEntry[] | null> {
  const number = createHash('sha256').update(lockName(owner)).digest().readBigInt64BE()
  const values = [String(number), owner.workspaceId, owner.subject, owner.key, position]
  const [row] = await query<{ entries: StoredEntry[] | null }>(LOCKED, values)
  return row!.entries
}

export const EXPIRED_ENTRIES = Prisma.raw(`SELECT 1 FROM idempotency_entries WHERE created_at <= ${EXPIRY_TIME}`)

/** Removes at most `most` expired entries and returns their number. Skips an entry that is being replaced. */
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

/** Requires the lock. Replaces an expired entry. */
export async function insertEntry(query: Query, owner: CallerKey, entry: StoredEntry): Promise<void> {
  const { position, requestHash, status, answer, secretSetId } = entry
  const { workspaceId, subject, key } = owner
  const values = [workspaceId, subject, key, position, requestHash, status, answer, secretSetId]
  if ((await query(INSERT, values)).length === 0) throw new Error('an outcome was stored under a key that was locked')
}

const PURPOSE = 'idempotency'

/** Deeper JSON is not compared. Verbs refuse half that depth. */
const MAX_DEPTH = 64

/** `<id of the key>.<signature>` */
export function fingerprint(keyring: KeyRing, request: string): string {
  return `${keyring.currentId}.${keyring.sign(PURPOSE, request)}`
}

/** Whether the fingerprint is of this request. True if its key has left the key ring, because that can't be checked. */
export function matchesFingerprint(keyring: KeyRing, made: string, request: string): boolean {
  const at = made.indexOf('.')
  return !keyring.has(made.slice(0, at)) || keyring.verify(PURPOSE, request, made.slice(at + 1))
}

/** The same text for equal JSON in any order of members. Some clients change the order with each attempt. */
export function canonical(value: unknown, level = 0): string {
  if (level > MAX_DEPTH) return '…'
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, level + 1)).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? ''
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item, level + 1)}`).join(',')}}`
}
