/**
 * Pool connections with an error listener (an unhandled error event ends the process), a client-side statement timeout that
 * destroys a silent connection, and one SQLSTATE for every kind of lost connection.
 */
import pg from 'pg'
import type { Log } from '../log/log.ts'
import { PgClient } from './pg-client.ts'

/** The connection broke or could not be opened. It has Postgres's error shape, so Prisma passes the code on. */
class LostConnection extends Error {
  readonly severity = 'FATAL'
  /** 08006: connection_failure; 53300: no connection was free before the timeout */
  readonly code: '08006' | '53300'
  constructor(cause: Error) {
    super(`The connection to the database was lost: ${cause.message || (cause as NodeJS.ErrnoException).code}`, {
      cause,
    })
    this.code = cause.message === 'timeout exceeded when trying to connect' ? '53300' : '08006'
  }
}

/** `pg` errors that have only a message, no code. */
export const LOST =
  /^(Connection terminated|Client (has encountered a connection error|was closed)|timeout e|Cannot use a pool)/
/** SQLSTATEs for an ended or refused session, missing resources or a timeout. */
const ENDED = /^(08|57|53|58|25P03|25006)/

export interface ConnectionWatch {
  /** statement timeout in ms */
  limit: number
  outage: Outage
  /** called with each statement's text as it is sent */
  onStatement(sql: string): void
}

/** Maximum for each connection. */
const MAX_PREPARED_STATEMENTS = 100

/** Internal `pg` state of a connection's prepared statements. */
interface NamedStatements {
  /** name → text of statements that Postgres has already parsed */
  parsedStatements: Record<string, string>
  close(statement: { type: 'S'; name: string }): void
}

type Callback = (error: Error | undefined, result?: unknown) => void

/** Client class for a pool: `new pg.Pool({ Client: watchedClient(…) })`. */
function watchedClient({ limit, outage, onStatement }: ConnectionWatch): typeof pg.Client {
  return class extends PgClient {
    /** names of prepared statements, least recently used first */
    readonly #names = new Set<string>()

    constructor(config: pg.ClientConfig & { connectionString: string }) {
      super(config)
      this.on('error', (error) => outage.failed(error.message))
    }

    // biome-ignore lint/suspicious/noExplicitAny: pg declares five forms of it; the pool uses one and Prisma another
    override query(...args: any[]): any {
      const [statement] = args as [string | { text?: string; name?: string }]
      const sql = typeof statement === 'string' ? statement : statement.text
      if (sql !== undefined) onStatement(sql)
      if (typeof statement === 'object' && statement.name) this.#keepNamed(statement.name)
      const stop = this.#limit()
      const last = args.at(-1)
      if (typeof last === 'function') {
        const answered: Callback = (error, result) => {
          stop()
          last(error && toLostConnection(error, outage), result)
        }
        if (sql !== undefined) return Reflect.apply(super.query, this, [...args.slice(0, -1), answered])
      }
      return (Reflect.apply(super.query, this, args) as Promise<unknown>).then(
        (result) => {
          stop()
          outage.worked()
          return result
        },
        (error) => {
          stop()
          throw toLostConnection(error, outage)
        },
      )
    }

    /** Deallocates the least recently used statement: each keeps its plan in the session's memory. */
    #keepNamed(name: string): void {
      this.#names.delete(name)
      this.#names.add(name)
      if (this.#names.size <= MAX_PREPARED_STATEMENTS) return
      const [oldest = ''] = this.#names
      this.#names.delete(oldest)
      const { connection } = this as unknown as { connection: NamedStatements }
      delete connection.parsedStatements[oldest]
      // no extra round trip: it is sent before the next statement
      connection.close({ type: 'S', name: oldest })
    }

    /** Destroys the connection at the timeout, unless the response has arrived and only waits to be read. */
    #limit(): () => void {
      let over = false
      const late = () => !over && this.#destroy()
      const timer = setTimeout(() => setImmediate(late), limit)
      return () => {
        over = true
        clearTimeout(timer)
      }
    }

    #destroy(): void {
      const { stream } = (this as unknown as { connection: { stream: NodeJS.WritableStream & { destroy(): void } } })
        .connection
      stream.destroy()
    }
  } as unknown as typeof pg.Client
}

/** A pool of watched clients. It also translates the error when no connection is available. */
export class WatchedPool extends pg.Pool {
  readonly #outage: Outage
  constructor(config: pg.PoolConfig, watch: ConnectionWatch) {
    super({ ...config, Client: watchedClient(watch) } as pg.PoolConfig)
    this.#outage = watch.outage
    // an idle connection broke; the pool replaces it
    this.on('error', () => {})
  }

  // biome-ignore lint/suspicious/noExplicitAny: a callback of the pool's own, or none
  override connect(callback?: any): any {
    if (!callback) {
      return super.connect().catch((error) => {
        throw toLostConnection(error, this.#outage)
      })
    }
    super.connect((error, client, done) => callback(error && toLostConnection(error, this.#outage), client, done))
  }

  /** When a connection breaks in `pool.query`, the pool notices first and rejects with an untranslated error. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  override query(...args: any[]): any {
    return (Reflect.apply(super.query, this, args) as Promise<unknown>).catch((error) => {
      throw toLostConnection(error, this.#outage)
    })
  }
}

function toLostConnection(error: Error, outage: Outage): Error {
  if (error instanceof LostConnection) return error
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  const own = typeof severity === 'string'
  const lost = own
    ? severity === 'FATAL' || ENDED.test(String(code))
    : /^E[A-Z]+$/.test(String(code)) || LOST.test(error.message)
  if (lost) outage.failed(error.message || String(code))
  return own || !lost ? error : new LostConnection(error)
}

export interface Outage {
  /** A connection broke or could not be opened. `reason`: one line, without secrets. */
  failed(reason: string): void
  worked(): void
}

/** time without a failure that ends an outage; connections that break one by one count as one outage */
const QUIET_MS = 5_000

export function createOutage(log: Log | undefined): Outage {
  let current: { begun: number; last: number; failures: number } | null = null
  return {
    failed(reason) {
      const now = performance.now()
      if (!current) log?.warn({ reason }, 'the database cannot be used')
      current = { begun: current?.begun ?? now, last: now, failures: (current?.failures ?? 0) + 1 }
    },
    worked() {
      if (!current || performance.now() - current.last < QUIET_MS) return
      const { begun, last, failures } = current
      current = null
      log?.info({ seconds: Math.round((last - begun) / 100) / 10, failures }, 'the database can be used again')
    },
  }
}
