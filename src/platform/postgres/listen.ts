/**
 * LISTEN that heals itself: one connection of its own, watched by a heartbeat, opened again with back-off when it
 * breaks. A notification is only ever a hint that comes early: those sent while there was no connection are lost,
 * so callers read their state again at every `onConnect`. Through a pooler nobody can LISTEN: there `onConnect` comes every
 * now and then instead.
 */
import pg from 'pg'
import { backoff, sleep } from '../async/retry.ts'
import type { Log } from '../log/log.ts'
import { PgClient } from './pg-client.ts'

export interface ListenOptions {
  /** of a direct connection; null: there is only a pooler, and `onConnect` is called every second */
  url: string | null
  channels: readonly string[]
  onNotify(channel: string, payload: string): void
  /** after every connect, the first too, once the channels are listened to: read again what they are about */
  onConnect(): void
  log: Log
  /** how often the connection is checked, and how long an answer may take, in ms; default 10 s and 5 s */
  heartbeat?: { every: number; limit: number }
}

export interface Listening {
  /** No callback is called after this. */
  close(): Promise<void>
}

/** ms between two calls of `onConnect` where nobody can LISTEN */
const POLL_INTERVAL_MS = 1_000
const MIN_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 10_000
/** Tries in vain until it is worth a line in the log, after some seconds: of a short absence others tell. */
const FAILURES_BEFORE_LOG = 4

/** Begins at once and never gives up. */
export function listen(options: ListenOptions): Listening {
  const abort = new AbortController()
  const done =
    options.url === null ? keepPolling(options, abort.signal) : keepListening(options, options.url, abort.signal)
  return {
    async close() {
      abort.abort()
      await done
    },
  }
}

async function keepPolling({ log, onConnect }: ListenOptions, signal: AbortSignal): Promise<void> {
  // the first time, too, only when the caller has what `listen` returns
  await Promise.resolve()
  while (!signal.aborted) {
    guarded(log, onConnect)
    await sleep(POLL_INTERVAL_MS, signal)
  }
}

async function keepListening(options: ListenOptions, url: string, signal: AbortSignal): Promise<void> {
  let failures = 0
  while (!signal.aborted) {
    try {
      await session(options, url, signal, () => {
        if (failures > FAILURES_BEFORE_LOG) options.log.info({}, 'the LISTEN connection is there again')
        failures = 0
      })
    } catch (error) {
      if (signal.aborted) return
      if (failures === FAILURES_BEFORE_LOG)
        options.log.warn({ error: (error as Error).message }, 'no LISTEN connection can be had; trying on')
    }
    // random: the replicas of a restarted database shall not all come at once
    await sleep(backoff(failures++, MIN_BACKOFF_MS, MAX_BACKOFF_MS, 0.5), signal)
  }
}

/** One connection, from its opening to its end: returns when `signal` aborts, throws when it breaks. */
async function session(options: ListenOptions, url: string, signal: AbortSignal, connected: () => void): Promise<void> {
  const { every, limit } = options.heartbeat ?? { every: 10_000, limit: 5_000 }
  const client = new PgClient({
    connectionString: url,
    application_name: 'pilothouse listen',
    keepAlive: true,
    connectionTimeoutMillis: limit,
    // a half-open connection shows only in that nobody answers
    query_timeout: limit,
  })
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject)
    client.on('end', () => reject(new Error('the connection was closed')))
  })
  broken.catch(() => {}) // it may break while nobody waits for it
  client.on('notification', ({ channel, payload }) => {
    if (!signal.aborted) guarded(options.log, () => options.onNotify(channel, payload ?? ''))
  })
  // not end(): it waits for an answer that a half-open connection never gives
  const cut = () => client.connection.stream.destroy()
  signal.addEventListener('abort', cut)
  try {
    await client.connect()
    for (const channel of options.channels) await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
    if (signal.aborted) return
    connected()
    guarded(options.log, options.onConnect)
    while (!signal.aborted) {
      await Promise.race([broken, sleep(every, signal)])
      if (!signal.aborted) await client.query('SELECT 1')
    }
  } finally {
    signal.removeEventListener('abort', cut)
    cut()
  }
}

/** A fault of the caller's must not look like one of the connection. */
function guarded(log: Log, callback: () => void): void {
  try {
    callback()
  } catch (error) {
    log.error({ error: (error as Error).message }, 'a listener of database notifications failed')
  }
}
