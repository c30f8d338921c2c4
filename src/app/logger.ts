/**
 * Creates the logger. It removes secret fields at any depth, passwords in URLs and our API keys, and keeps only descriptive
 * parts of errors. platform/log/destination.ts defines the output. Also checks the setting of the access log at the start.
 */
import { type DestinationStream, type Logger, pino } from 'pino'
import { databaseFailure } from '../domain/errors/database-error.ts'
import { type Config, ConfigError } from '../platform/config/config.ts'
import { openToAppend } from '../platform/files/atomic-file.ts'

/** Fields (lower case) whose values are never logged. */
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
/** Deeper values are not logged: a log line is not a dump. */
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
        // an unavailable or overloaded database has its own log line (platform/postgres/connection.ts), so individual errors
        // are dropped
        logMethod(args, method) {
          const { err } = (args[0] ?? {}) as { err?: unknown }
          const failure = databaseFailure(err)
          if (failure !== 'lost' && failure !== 'busy') method.apply(this, args)
        },
      },
      // redact() describes errors; pino's own serializer would add every enumerable property
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

/** The error's description, without its other properties, where drivers put parameters and rows. */
function describe(error: Error & { code?: unknown }, depth: number): object {
  return {
    type: error.name,
    message: withoutPasswords(withoutArguments(error)),
    ...(typeof error.code === 'string' ? { code: error.code } : {}),
    stack: withoutPasswords((error.stack ?? '').replace(error.message, () => withoutArguments(error))),
    ...(error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) }),
  }
}

/** Prisma's message contains the whole call with its values; the reason is the last paragraph. */
function withoutArguments({ name, message }: Error): string {
  return name === 'PrismaClientValidationError' ? message.slice(message.lastIndexOf('\n\n') + 2) : message
}

/** `scheme://user:password@host` → `scheme://user:[redacted]@host`; also removes our API keys. */
function withoutPasswords(text: string): string {
  return text.replace(/(\/\/[^/\s:@]*:)[^/\s@]+@/g, `$1${REDACTED}@`).replace(/cpk_[\w-]{20,}/g, REDACTED)
}

/** Throws ConfigError when the file can't be opened. Undefined: no log. */
export async function checkAccessLog(file: string | undefined): Promise<void> {
  if (file === undefined) return
  const handle = await openToAppend(file).catch((cause: Error) => {
    throw new ConfigError(`APPS_ACCESS_LOG: ${cause.message}`, { cause })
  })
  await handle.close()
}
