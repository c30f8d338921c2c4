/** Finds out whether a transaction was committed when its connection broke at the COMMIT (README.md). */
import type { PrismaClient } from '../../generated/prisma/client.ts'
import { retry } from '../../platform/async/retry.ts'
import { databaseFailure } from '../errors/database-error.ts'
import type { TransactionIdentity } from './append.ts'

/** Maximum wait for the database. The caller waits for the answer during this time. */
const TIME_LIMIT_MS = 5_000
const PAUSE_MS = 100
const STILL_OPEN = new Error('its session was still in it')

/** Null: unknown, because the database is unavailable. */
export async function wasWritten(db: PrismaClient, transaction: TransactionIdentity): Promise<boolean | null> {
  const passes = (error: unknown) => error === STILL_OPEN || databaseFailure(error) !== null
  const look = async () => {
    // while the session has the transaction open, it may still commit; so end the session first
    if (await endSession(db, transaction)) throw STILL_OPEN
    return hasEvent(db, transaction)
  }
  return retry(look, { withinMs: TIME_LIMIT_MS, pause: () => PAUSE_MS, when: passes }).catch((error) => {
    if (passes(error)) return null
    throw error
  })
}

/** Ends the transaction's session. Returns whether it was still open. */
async function endSession(db: PrismaClient, { pid, begunAt }: TransactionIdentity): Promise<boolean> {
  const open = await db.$queryRaw<unknown[]>`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ${pid}::int AND xact_start = ${begunAt}::timestamptz`
  return open.length > 0
}

/** The sequence number alone is not enough: after a rollback another transaction gets it. */
async function hasEvent(
  db: PrismaClient,
  { workspaceId, sequence, occurredAt }: TransactionIdentity,
): Promise<boolean> {
  const found = await db.$queryRaw<unknown[]>`
    SELECT 1 FROM events WHERE workspace_id = ${workspaceId}::uuid AND sequence = ${sequence}
      AND occurred_at = ${occurredAt}::timestamptz`
  return found.length > 0
}
