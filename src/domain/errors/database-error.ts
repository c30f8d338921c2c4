/** What errors of the database mean: the only place that interprets them, by SQLSTATE, whether Prisma or pg threw them. */
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
  // a statement's time limit; too few connections, memory, disk or other resources
  [/^(57014|53)/, 'busy'],
  // connections; the server is shutting down, starting or refusing; it ended an idle transaction; it is a read-only replica
  [/^(08|28|3D|57P|58|25P03|25006)/, 'lost'],
]
/** Prisma's own codes, for errors without an SQLSTATE. P2028: a transaction did not start or end in time. */
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

/** Which failure of the database caused this error, also if it is a DomainError already; null: none. */
export function databaseFailure(error: unknown): DatabaseFailure | null {
  if (error instanceof DomainError) return databaseFailure(error.cause)
  const state = sqlState(error)
  if (state !== null) return MEANING.find(([pattern]) => pattern.test(state))?.[1] ?? (isFatal(error) ? 'lost' : null)
  const { code } = (error ?? {}) as { code?: unknown }
  return OF_PRISMA[String(code)] ?? null
}

/** Postgres' error fields, as pg or Prisma's adapter pass them on. */
interface PostgresError {
  code?: unknown
  severity?: unknown
  originalCode?: unknown
}

function postgresError(error: unknown): PostgresError {
  const { name, cause, meta, ...own } = (error ?? {}) as PostgresError & {
    name?: unknown
    /** of a DriverAdapterError, which a COMMIT throws */
    cause?: PostgresError
    /** of a PrismaClientKnownRequestError */
    meta?: { driverAdapterError?: { cause?: PostgresError } }
  }
  const reported = name === 'DriverAdapterError' ? cause : meta?.driverAdapterError?.cause
  return reported ?? { severity: (error as PostgresError | null)?.severity, originalCode: own.severity && own.code }
}

/** The SQLSTATE; null: not an error of the database, or Prisma does not reveal it. */
function sqlState(error: unknown): string | null {
  const { originalCode } = postgresError(error)
  return typeof originalCode === 'string' ? originalCode : null
}

/** Whether the error ended the session, or prevented one. */
const isFatal = (error: unknown) => postgresError(error).severity === 'FATAL'

/** The message for the caller, and the seconds after which to retry. */
const ANSWERS: Record<DatabaseFailure, [string, number]> = {
  lost: ['The database cannot be reached at the moment. Try again.', 2],
  busy: ['The database is too busy at the moment. Try again.', 2],
  locked: ['Somebody else is writing to this at the moment. Try again.', 2],
  conflict: ['Others were writing to the same at the same time. Try again.', 1],
}

/** The error for the caller, UNAVAILABLE; null: the database has not failed. Nothing was written. */
export function asUnavailable(error: unknown): DomainError | null {
  const failure = error instanceof DomainError ? null : databaseFailure(error)
  if (failure === null) return null
  const [message, retryAfterSeconds] = ANSWERS[failure]
  return new DomainError('UNAVAILABLE', message, { retryAfterSeconds, cause: error })
}
