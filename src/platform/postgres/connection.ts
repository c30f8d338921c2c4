/**
 * The connections that our pools are made of. Each has an error listener from its creation, since an error that nobody
 * listens to ends the process; each statement has a time limit here, beside that of Postgres, since a connection may go silent
 * without an end, and one that exceeded it is destroyed; and every way to lose a connection is named by one SQLSTATE.
 */
import pg from 'pg'
import type { Outage } from './outage.ts'
import { PgClient } from './pg-client.ts'

/** The connection is gone, or could not be had. In Postgres' own shape, so that Prisma hands the code on. */
class LostConnection extends Error {
  readonly severity = 'FATAL'
  /** 08006: connection_failure · 53300: none was free in time */
  readonly code: '08006' | '53300'
  constructor(cause: Error) {
    super(`The connection to the database was lost: ${cause.message || (cause as NodeJS.ErrnoException).code}`, {
      cause,
    })
    this.code = cause.message === 'timeout exceeded when trying to connect' ? '53300' : '08006'
  }
}

/** What `pg` says in words alone. */
export const LOST =
  /^(Connection terminated|Client (has encountered a connection error|was closed)|timeout e|Cannot use a pool)/
/** Postgres ends the session, lets nobody in, lacks something, or is too slow. */
const ENDED = /^(08|57|53|58|25P03|25006)/

export interface ConnectionWatch {
  /** ms that a statement may take */
  limit: number
  outage: Outage
  /** called with each statement's text as it is sent */
  onStatement(sql: string): void
}

/** Prepared statements that a connection keeps. */
const MAX_PREPARED_STATEMENTS = 100

/** What `pg` knows of them on a connection. */
interface NamedStatements {
  /** texts by names: those are not sent again */
  parsedStatements: Record<string, string>
  close(statement: { type: 'S'; name: string }): void
}

type Callback = (error: Error | undefined, result?: unknown) => void

/** A class of clients for a pool: `new pg.Pool({ Client: watchedClient(…) })`. */
function watchedClient({ limit, outage, onStatement }: ConnectionWatch): typeof pg.Client {
  return class extends PgClient {
    /** of its prepared statements, those used last behind the others */
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

    /** Lets Postgres forget the one of them that was not used for the longest: each keeps its plan in the session's memory. */
    #keepNamed(name: string): void {
      this.#names.delete(name)
      this.#names.add(name)
      if (this.#names.size <= MAX_PREPARED_STATEMENTS) return
      const [oldest = ''] = this.#names
      this.#names.delete(oldest)
      const { connection } = this as unknown as { connection: NamedStatements }
      delete connection.parsedStatements[oldest]
      // without a round trip: it goes before the statement that is sent now
      connection.close({ type: 'S', name: oldest })
    }

    /** Destroys the connection when its time is up, unless the answer had come and was only not read yet. */
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

/** A pool of them: that none could be had is named, too. */
export class WatchedPool extends pg.Pool {
  readonly #outage: Outage
  constructor(config: pg.PoolConfig, watch: ConnectionWatch) {
    super({ ...config, Client: watchedClient(watch) } as pg.PoolConfig)
    this.#outage = watch.outage
    // an idle one broke; the pool replaces it by itself
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

  /** When a connection breaks in a query of the pool's own, the pool learns of it first and rejects with its own error. */
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
