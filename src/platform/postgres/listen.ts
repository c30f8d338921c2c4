/**
 * LISTEN on a dedicated connection, checked by a heartbeat and reopened with back-off. Notifications without a connection are lost,
 * so callers reread their state at every `onConnect`. With only a pooler, it calls `onConnect` periodically instead. NOTIFY wakes
 * listeners once for all transactions of some milliseconds.
 */
import pg from 'pg'
import { backoff, retry, sleep } from '../async/retry.ts'
import type { Log } from '../log/log.ts'
import { PgClient } from './pg-client.ts'
import type { Query } from './transaction.ts'

export interface ListenOptions {
  /** URL of a direct connection; null: only a pooler exists, and `onConnect` is called every second */
  url: string | null
  channels: readonly string[]
  onNotify(channel: string, payload: string): void
  /** called after every connect, once LISTEN is active: reread the state behind the channels */
  onConnect(): void
  log: Log
  /** interval and timeout of the connection check, in ms; default 10 s and 5 s */
  heartbeat?: { every: number; limit: number }
}

export interface Listening {
  close(): Promise<void>
}

const POLL_INTERVAL_MS = 1_000
const MIN_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 10_000
/** Failed tries before a log line, some seconds; other parts report shorter outages. */
const FAILURES_BEFORE_LOG = 4

/** Starts immediately and never gives up. */
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
  // the first call also comes after `listen` has returned
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
        if (failures > FAILURES_BEFORE_LOG) options.log.info({}, 'the LISTEN connection works again')
        failures = 0
      })
    } catch (error) {
      if (signal.aborted) return
      if (failures === FAILURES_BEFORE_LOG)
        options.log.warn({ error: (error as Error).message }, 'the LISTEN connection can’t be opened; retrying')
    }
    // random, so replicas don't reconnect to a restarted database all together
    await sleep(backoff(failures++, MIN_BACKOFF_MS, MAX_BACKOFF_MS, 0.5), signal)
  }
}

/** One connection's lifetime. Returns when `signal` aborts, throws when the connection breaks. */
async function session(options: ListenOptions, url: string, signal: AbortSignal, connected: () => void): Promise<void> {
  const { every, limit } = options.heartbeat ?? { every: 10_000, limit: 5_000 }
  const client = new PgClient({
    connectionString: url,
    application_name: 'pilothouse listen',
    keepAlive: true,
    connectionTimeoutMillis: limit,
    // a half-open connection shows only by missing responses
    query_timeout: limit,
  })
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject)
    client.on('end', () => reject(new Error('the connection was closed')))
  })
  broken.catch(() => {}) // it may break while no code awaits it
  client.on('notification', ({ channel, payload }) => {
    if (!signal.aborted) guarded(options.log, () => options.onNotify(channel, payload ?? ''))
  })
  // not end(), which waits for a response that a half-open connection never gives
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

/** A bug in a callback must not look like a connection error. */
function guarded(log: Log, callback: () => void): void {
  try {
    callback()
  } catch (error) {
    log.error({ error: (error as Error).message }, 'a listener of database notifications failed')
  }
}

interface WakeUps {
  /** Sends notices (`channel payload`) immediately, or after a running send. Equal notices are sent once. */
  send(notices: Iterable<string>): void
  /** Resolves when all notices are sent or have failed. Call it last. */
  close(): Promise<void>
}

/** each statement makes every server look */
const SEND_INTERVAL_MS = 5
const MAX_TRIES = 5

/** `$1`: notices, sent in order. */
const NOTIFY = {
  name: 'wake',
  text: `SELECT pg_notify(split_part(notice, ' ', 1), split_part(notice, ' ', 2)) FROM unnest($1::text[]) AS notice`,
}

/**
 * Sends NOTIFYs after commits, batched into separate statements. A NOTIFY in a writing transaction would serialise commits
 * (README.md). A lost wake-up is safe, because listeners also poll.
 */
export function createWakeUps(query: Query, log?: Log): WakeUps {
  const requested = new Set<string>()
  let sending: Promise<void> | null = null
  let closing = false

  async function sendAll(): Promise<void> {
    while (requested.size > 0) {
      const notices = [...requested]
      requested.clear()
      try {
        await retry(() => query(NOTIFY, [notices]), {
          when: () => !closing,
          pause: (retries) => backoff(retries, 50, 1_000, 0.5),
          tries: MAX_TRIES,
        })
      } catch (error) {
        log?.warn({ err: error, notices: notices.length }, 'a NOTIFY failed; waiting clients find out by polling')
      }
      if (!closing) await sleep(SEND_INTERVAL_MS)
    }
    sending = null
  }

  return {
    send(notices) {
      for (const notice of notices) requested.add(notice)
      if (requested.size > 0) sending ??= sendAll()
    },
    async close() {
      closing = true
      await sending
    },
  }
}
