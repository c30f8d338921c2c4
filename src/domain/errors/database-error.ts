/** Classifies errors of the database by SQLSTATE, from Prisma and pg. No other file interprets them. */
import { DomainError } from './errors.ts'

/**
 * `lost`: the database can't be reached, or the connection broke · `busy`: a time limit or a resource limit was hit ·
 * `locked`: another transaction holds the row's lock · `conflict`: a deadlock or serialization failure; a retry may succeed.
 */
export type DatabaseFailure = 'lost' | 'busy' | 'locked' | 'conflict'

/** By SQLSTATE, the longest prefix first. */
const MEANING: readonly [RegExp, DatabaseFailure][] = [
  [/^(40001|40P01)$/, 'conflict'],
  [/^55P03$/, 'locked'],
  // statement timeout; not enough connections, memory, disk or other resources
  [/^(57014|53)/, 'busy'],
  // broken connection; server stops, starts or refuses; idle transaction ended; read-only replica
  [/^(08|28|3D|57P|58|25P03|25006)/, 'lost'],
]
/** Errors of Prisma without an SQLSTATE. P2028: a transaction did not start or end before its timeout. */
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

/** The failure that caused this error, also when a DomainError wraps it. Null: not a failure of the database. */
export function databaseFailure(error: unknown): DatabaseFailure | null {
  if (error instanceof DomainError) return databaseFailure(error.cause)
  const state = sqlState(error)
  if (state !== null) return MEANING.find(([pattern]) => pattern.test(state))?.[1] ?? (isFatal(error) ? 'lost' : null)
  const { code } = (error ?? {}) as { code?: unknown }
  return OF_PRISMA[String(code)] ?? null
}

interface PostgresError {
  code?: unknown
  severity?: unknown
  originalCode?: unknown
}

function postgresError(error: unknown): PostgresError {
  const { name, cause, meta, ...own } = (error ?? {}) as PostgresError & {
    name?: unknown
    /** in a DriverAdapterError, which a COMMIT throws */
    cause?: PostgresError
    /** in a PrismaClientKnownRequestError */
    meta?: { driverAdapterError?: { cause?: PostgresError } }
  }
  const reported = name === 'DriverAdapterError' ? cause : meta?.driverAdapterError?.cause
  return reported ?? { severity: (error as PostgresError | null)?.severity, originalCode: own.severity && own.code }
}

/** Null: not an error of the database, or Prisma hides the code. */
function sqlState(error: unknown): string | null {
  const { originalCode } = postgresError(error)
  return typeof originalCode === 'string' ? originalCode : null
}

/** Whether the error ended the session or prevented one. */
const isFatal = (error: unknown) => postgresError(error).severity === 'FATAL'

const ANSWERS: Record<DatabaseFailure, [string, number]> = {
  lost: ['The database is unavailable. Try again.', 2],
  busy: ['The database is too busy. Try again.', 2],
  locked: ['Another caller is writing to the same resource. Try again.', 2],
  conflict: ['Other callers wrote to the same resource concurrently. Try again.', 1],
}

/** The UNAVAILABLE error for the caller. Null: the database has not failed. Nothing was written. */
export function asUnavailable(error: unknown): DomainError | null {
  const failure = error instanceof DomainError ? null : databaseFailure(error)
  if (failure === null) return null
  const [message, retryAfterSeconds] = ANSWERS[failure]
  return new DomainError('UNAVAILABLE', message, { retryAfterSeconds, cause: error })
}
