/** Runs a few statements on a dedicated connection, outside all pools: at start, in backups, for the clock. */
import type pg from 'pg'
import { LOST } from './connection.ts'
import { PgClient } from './pg-client.ts'

export interface SingleConnectionOptions {
  /** suffix of `application_name`, after `pilothouse ` */
  name: string
  /** connect timeout in ms; default 30 s */
  connectMs?: number
  /** timeout of each response in ms; default: none */
  answerMs?: number
}

/**
 * SQLSTATEs for a Postgres that starts, stops, closes connections or has none left. A wrong password or database is not
 * among them.
 */
const UNAVAILABLE_SQLSTATE = /^(08|53300|57P0[1-3])/
/** Network error codes. */
const NETWORK_ERROR_CODE = /^E(AI_)?[A-Z]+$/

/** Whether an error of `onSingleConnection` means that the database may be available later. */
export function isUnavailable(error: unknown): boolean {
  const { code, severity, message } = (error ?? {}) as { code?: unknown; severity?: unknown; message?: string }
  if (typeof severity === 'string') return UNAVAILABLE_SQLSTATE.test(String(code))
  return NETWORK_ERROR_CODE.test(String(code)) || LOST.test(message ?? '')
}

/** Runs `work`. Rejects with its error, or with `pg`'s error when the connection fails. */
export async function onSingleConnection<T>(
  url: string,
  { name, connectMs = 30_000, answerMs }: SingleConnectionOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new PgClient({
    connectionString: url,
    application_name: `pilothouse ${name}`,
    keepAlive: true,
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
  })
  client.on('error', () => undefined) // the running statement rejects; an unhandled event would end the process
  let isOpen = false
  try {
    await client.connect()
    isOpen = true
    return await work(client)
  } finally {
    // end() waits for a response, which a silent connection never sends
    if (isOpen && answerMs === undefined) await client.end()
    else client.connection.stream.destroy()
  }
}
