/**
 * The log, without secrets; platform/log/destination.ts says where it goes. Whatever is handed to it is copied without the
 * fields that hold secrets, at any depth, and without passwords in URLs; of an error only what describes it is kept.
 */
import { type DestinationStream, type Logger, pino } from 'pino'
import { databaseFailure } from '../domain/errors/database-error.ts'
import type { Config } from '../platform/config/config.ts'

/** Fields whose values are never logged, lower-case. */
const SECRET = new Set([
  'x-api-key',
  'authorization',
  'cookie',
  'set-cookie',
  'apikey',
  'api_key',
  'secret',
  'secrets',
  'value',
  'values',
  'password',
  'token',
  'key',
  'client_secret',
  'clientsecret',
  'access_token',
  'accesstoken',
  'refresh_token',
  'refreshtoken',
  'codeverifier',
])
const REDACTED = '[redacted]'
/** Deeper than this nothing is logged: a log line is no dump. */
const MAX_DEPTH = 6

/** `stream`: default stdout, as JSON lines. */
export function createLogger(level: Config['LOG_LEVEL'], stream?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => redact(fields, 0) as Record<string, unknown>,
      },
      hooks: {
        // of a database that is away or overloaded one line tells (platform/postgres/outage.ts), and not one for each who meets it
        logMethod(args, method) {
          const { err } = (args[0] ?? {}) as { err?: unknown }
          const failure = databaseFailure(err)
          if (failure !== 'lost' && failure !== 'busy') method.apply(this, args)
        },
      },
      // errors are described by redact(); pino's own serializer would add every enumerable property
      serializers: { err: (described: unknown) => described },
    },
    stream ?? pino.destination({ fd: 1, sync: true }),
  )
}

function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return withoutPasswords(value)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (depth > MAX_DEPTH) return '[…]'
  if (value instanceof Error) return describe(value, depth)
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  if (ArrayBuffer.isView(value)) return '[bytes]'
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      SECRET.has(name.toLowerCase()) ? REDACTED : redact(inner, depth + 1),
    ]),
  )
}

/** What an error says. Not its other properties: drivers put parameters and rows there. */
function describe(error: Error & { code?: unknown }, depth: number): object {
  return {
    type: error.name,
    message: withoutPasswords(withoutArguments(error)),
    ...(typeof error.code === 'string' ? { code: error.code } : {}),
    stack: withoutPasswords((error.stack ?? '').replace(error.message, () => withoutArguments(error))),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
  }
}

/** Prisma prints the whole call that it finds wrong, with all values; what is wrong comes last. */
function withoutArguments({ name, message }: Error): string {
  return name === 'PrismaClientValidationError' ? message.slice(message.lastIndexOf('\n\n') + 2) : message
}

/** `scheme://user:password@host` → `scheme://user:[redacted]@host`, and keys of ours wherever they stand. */
function withoutPasswords(text: string): string {
  return text.replace(/(\/\/[^/\s:@]*:)[^/\s@]+@/g, `$1${REDACTED}@`).replace(/cpk_[\w-]{20,}/g, REDACTED)
}
