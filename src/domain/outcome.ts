/**
 * What became of a transaction whose connection broke at the COMMIT: its last event is in the log, or it is not and
 * never will be.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { PrismaClient } from '../generated/prisma/client.ts'
import { databaseFailure } from './database-failure.ts'
import type { Mark } from './events/append.ts'

/** ms in which the database has to be there again: the caller is waiting for the answer */
const PATIENCE = 5_000
const PAUSE = 100

/** Null: it can't be told, since the database stays away. */
export async function wasWritten(db: PrismaClient, mark: Mark): Promise<boolean | null> {
  for (const until = performance.now() + PATIENCE; performance.now() < until; await delay(PAUSE)) {
    try {
      // a session that still has it open may yet carry it out: first it is ended, and then is the time to look
      if (!(await endSession(db, mark))) return await hasEvent(db, mark)
    } catch (error) {
      if (databaseFailure(error) === null) throw error
    }
  }
  return null
}

/** Whether its session was still in it. */
async function endSession(db: PrismaClient, { pid, begunAt }: Mark): Promise<boolean> {
  const open = await db.$queryRaw<unknown[]>`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ${pid}::int AND xact_start = ${begunAt}::timestamptz`
  return open.length > 0
}

/** Not by its number alone: another transaction takes that when this one was rolled back. */
async function hasEvent(db: PrismaClient, { workspaceId, sequence, occurredAt }: Mark): Promise<boolean> {
  const found = await db.$queryRaw<unknown[]>`
    SELECT 1 FROM events WHERE workspace_id = ${workspaceId}::uuid AND sequence = ${sequence}
      AND occurred_at = ${occurredAt}::timestamptz`
  return found.length > 0
}
