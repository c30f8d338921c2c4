/**
 * The one place that knows what the database's errors mean: whatever is thrown, by Prisma or by pg, is told by its
 * SQLSTATE, never by its text.
 */
import { DomainError } from './errors.ts'

/**
 * `lost`: there is no database to speak to, or the connection broke · `busy`: it took too long · `locked`: somebody
 * else holds the row · `conflict`: two transactions were in each other's way, and the same again may succeed.
 */
export type DatabaseFailure = 'lost' | 'busy' | 'locked' | 'conflict'

/** By SQLSTATE, the longest prefix first. */
const MEANING: readonly [RegExp, DatabaseFailure][] = [
  [/^(40001|40P01)$/, 'conflict'],
  [/^55P03$/, 'locked'],
  // a statement that took too long; none was free; out of memory, disk or other resources
  [/^(57014|53)/, 'busy'],
  // connections; the server goes down, is not up yet, or takes none; it ended an idle transaction; it is a read-only one
  [/^(08|28|3D|57P|58|25P03|25006)/, 'lost'],
]
/** Prisma's own codes, where the driver told none. P2028: a transaction did not begin, or not end, in time. */
const OF_PRISMA: Record<string, DatabaseFailure> = {
  P1001: 'lost',
  P1002: 'lost',
  P1008: 'busy',
  P1017: 'lost',
  P2024: 'busy',
  P2028: 'busy',
  P2034: 'conflict',
  P2037: 'busy',
}

/** What went wrong with the database itself, also as it was told to a caller; null: it was something else. */
export function databaseFailure(error: unknown): DatabaseFailure | null {
  if (error instanceof DomainError) return databaseFailure(error.cause)
  const state = sqlState(error)
  if (state !== null) return MEANING.find(([pattern]) => pattern.test(state))?.[1] ?? (isFatal(error) ? 'lost' : null)
  const { code } = (error ?? {}) as { code?: unknown }
  return OF_PRISMA[String(code)] ?? null
}

/** What Postgres said, as pg or Prisma's adapter hands it on. */
interface Said {
  code?: unknown
  severity?: unknown
  originalCode?: unknown
}

function said(error: unknown): Said {
  const { name, cause, meta, ...own } = (error ?? {}) as Said & {
    name?: unknown
    /** a DriverAdapterError's own, at a COMMIT */
    cause?: Said
    /** of a PrismaClientKnownRequestError */
    meta?: { driverAdapterError?: { cause?: Said } }
  }
  const told = name === 'DriverAdapterError' ? cause : meta?.driverAdapterError?.cause
  return told ?? { severity: (error as Said | null)?.severity, originalCode: own.severity && own.code }
}

/** The SQLSTATE; null: it was no error of the database's, or Prisma keeps it to itself. */
function sqlState(error: unknown): string | null {
  const { originalCode } = said(error)
  return typeof originalCode === 'string' ? originalCode : null
}

/** It ended the session, or let nobody in. */
const isFatal = (error: unknown) => said(error).severity === 'FATAL'

/** What the caller is told, and after how many seconds it is worth another try. */
const TOLD: Record<DatabaseFailure, [string, number]> = {
  lost: ['The database cannot be reached at the moment. Try again.', 2],
  busy: ['The database is too busy at the moment. Try again.', 2],
  locked: ['Somebody else is writing to this at the moment. Try again.', 2],
  conflict: ['Others were writing to the same at the same time. Try again.', 1],
}

/** The database's failure as UNAVAILABLE; null: it was something else. Nothing was written. */
export function asUnavailable(error: unknown): DomainError | null {
  const failure = error instanceof DomainError ? null : databaseFailure(error)
  if (failure === null) return null
  const [message, retryAfterSeconds] = TOLD[failure]
  return new DomainError('UNAVAILABLE', message, { retryAfterSeconds, cause: error })
}
