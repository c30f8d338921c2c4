/**
 * The Prisma client on a pg pool of our own: one pool for a process, closed as a whole, and every SQL statement
 * that goes through it can be observed (the tests count them).
 */
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import type { Log } from '../domain/context.ts'
import { type Prisma, PrismaClient } from '../generated/prisma/client.ts'

export type Db = PrismaClient
/** What Prisma hands to the callback of an interactive transaction. */
export type Tx = Prisma.TransactionClient

export interface Database {
  prisma: Db
  pool: pg.Pool
  /** Calls `listener` with the text of each statement, `BEGIN` and `COMMIT` too, as it is sent. Returns its end. */
  onQuery(listener: (sql: string) => void): () => void
  /** Waits for running queries, then closes every connection. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** `postgresql://…` */
  url: string
  /** the most connections this process opens at once through the pool */
  poolSize: number
  log?: Log
}

/** How long a query or transaction may wait for a connection, and how long a transaction may last, in ms. */
const PATIENCE = 30_000

/**
 * Session settings. UTC, because the adapter writes times without an offset and reads them as UTC, so any other
 * zone shifts every value. A process that hangs inside a transaction must not hold its row locks for ever.
 */
const SESSION = `-c TimeZone=UTC -c idle_in_transaction_session_timeout=${2 * PATIENCE}`

/** Connects lazily: a database that can't be reached shows at the first query. */
export function openDatabase({ url, poolSize, log }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: withSessionSettings(url),
    max: poolSize,
    keepAlive: true,
    connectionTimeoutMillis: PATIENCE,
    application_name: 'pilothouse',
  })
  // without a listener the end of an idle connection would end the process; the pool replaces it by itself
  pool.on('error', (error) => log?.warn({ error: error.message }, 'an idle database connection broke'))
  const onQuery = observeQueries(pool)
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool),
    // many writers may queue for one deployment's lock; Prisma's defaults would fail them with P2028
    transactionOptions: { maxWait: PATIENCE, timeout: PATIENCE },
  })
  return {
    prisma,
    pool,
    onQuery,
    async close() {
      await prisma.$disconnect()
      await pool.end() // Prisma leaves a pool that it was given open
    },
  }
}

/** Adds our session settings to those that the URL may bring: pg lets the URL's `options` replace all others. */
function withSessionSettings(url: string): string {
  const parsed = new URL(url)
  const own = parsed.searchParams.get('options')
  parsed.searchParams.set('options', own ? `${own} ${SESSION}` : SESSION)
  return parsed.toString()
}

function observeQueries(pool: pg.Pool): Database['onQuery'] {
  const listeners = new Set<(sql: string) => void>()
  pool.on('connect', (client) => {
    const { query } = client
    const observed = (...args: unknown[]) => {
      const [statement] = args as [string | { text?: string }]
      const sql = typeof statement === 'string' ? statement : statement.text
      if (sql !== undefined) for (const listener of listeners) listener(sql)
      return Reflect.apply(query, client, args)
    }
    client.query = observed as typeof query
  })
  return (listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
}
