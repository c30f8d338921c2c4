/** A connection of its own for a few statements, past every pool: at the start, in backups, for the clock. */
import pg from 'pg'

export interface SingleConnectionOptions {
  /** `application_name`, behind `pilothouse ` */
  name: string
  /** ms in which it has to be made; default 30 s */
  connectMs?: number
  /** ms that an answer may take; default: as long as it takes */
  answerMs?: number
}

/** Runs `work` on it. Rejects with what `work` does, and with what `pg` says of a connection that can't be had or breaks. */
export async function onSingleConnection<T>(
  url: string,
  { name, connectMs = 30_000, answerMs }: SingleConnectionOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
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
