/** A connection of its own for a few statements, past every pool: at the start, in backups, for the clock. */
import type pg from 'pg'
import { LOST } from './connection.ts'
import { PgClient } from './pg-client.ts'

export interface SingleConnectionOptions {
  /** `application_name`, behind `pilothouse ` */
  name: string
  /** ms in which it has to be made; default 30 s */
  connectMs?: number
  /** ms that an answer may take; default: as long as it takes */
  answerMs?: number
}

/** SQLSTATEs of a Postgres that starts, stops, breaks a connection or has none left. A wrong password or database is none of them. */
const AWAY_STATE = /^(08|53300|57P0[1-3])/
/** Codes of the network. */
const AWAY_CODE = /^E(AI_)?[A-Z]+$/

/** Whether an error of `onSingleConnection` means that the database may answer later. */
export function isAway(error: unknown): boolean {
  const { code, severity, message } = (error ?? {}) as { code?: unknown; severity?: unknown; message?: string }
  if (typeof severity === 'string') return AWAY_STATE.test(String(code))
  return AWAY_CODE.test(String(code)) || LOST.test(message ?? '')
}

/** Runs `work` on it. Rejects with what `work` does, and with what `pg` says of a connection that can't be had or breaks. */
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
  client.on('error', () => undefined) // the statement under way rejects; the event alone would end the process
  let isOpen = false
  try {
    await client.connect()
    isOpen = true
    return await work(client)
  } finally {
    // end() waits for an answer, which a silent connection never gives
    if (isOpen && answerMs === undefined) await client.end()
    else client.connection.stream.destroy()
  }
}
