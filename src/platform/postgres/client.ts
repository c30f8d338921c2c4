/**
 * Opens the database of one process, with separate pools for requests, worker, lease renewal, health and wake-ups, so none
 * of them starves another. See README.md.
 */
import type pg from 'pg'
import { type Prisma, PrismaClient } from '../../generated/prisma/client.ts'
import type { Log } from '../log/log.ts'
import { createOutage, WatchedPool } from './connection.ts'
import { createWakeUps } from './listen.ts'
import { withLazyCompiler } from './prisma-compiler.ts'
import { JoiningAdapter, type Query, type Statement, type Transact, transactOn } from './transaction.ts'

/** Ways to run statements on the connections of one pool, as the domain's Core has them. */
interface Access {
  db: PrismaClient
  /** for hot reads */
  query: Query
  /** for writes */
  transact: Transact
}

export interface Database {
  requests: Access
  /** for the server's background work: worker, sweeps, jobs */
  background: Access
  /** only for renewing leases, one short statement that must not wait for other work */
  renew<Row>(statement: Prisma.Sql): Promise<Row[]>
  /** Sends NOTIFY after a commit (listen.ts). `onQuery` does not report it, because it belongs to no single request. */
  wake(notices: Iterable<string>): void
  /** for short periodic reads, from the wake-up pool; `onQuery` does not report them */
  look: Query
  /** whether the database answers, within the limits of the `health` pool */
  answers(): Promise<boolean>
  /** One round trip. Rejects while the database is unavailable. `onQuery` does not report it. */
  roundTrip(): Promise<unknown>
  /** `health`: for health checks and the key watch, which must not wait for requests */
  pools: Readonly<Record<'api' | 'worker' | 'renewal' | 'health' | 'wakes', pg.Pool>>
  /**
   * Calls `listener` with each statement's text as it is sent, including `BEGIN` and `COMMIT`, but without wake-ups.
   * Returns a function that unsubscribes.
   */
  onQuery(listener: (sql: string) => void): () => void
  /** Waits for running queries, then closes every connection. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** `postgresql://…` */
  url: string
  /**
   * `url` is a pooler. It refuses session settings, so the role must have them (pooler.ts). `direct` bypasses it for lease
   * renewal, so a full pooler can't delay that; null: there is no direct URL.
   */
  pooled?: { direct: string | null }
  poolSize: number
  /** maximum connections for background work; default 5 */
  workerPoolSize?: number
  /** timeout of a request's statement and of its wait for a connection, in s; default 8 */
  querySeconds?: number
  log?: Log
}

/** Timeouts of one pool, in ms. */
interface Limits {
  /** for getting a free or new connection */
  connect: number
  /** for one statement including lock waits; Postgres cancels it */
  statement: number
  /** for one lock */
  lock: number
  /** for a whole transaction */
  transaction: number
}

/** The lock timeout is shorter than the statement timeout, because its error tells more. */
const requestLimits = (seconds: number): Limits => ({
  connect: seconds * 1000,
  statement: seconds * 1000,
  lock: Math.min(5_000, seconds * 500),
  transaction: seconds * 2000,
})
/** Sweeps read much. */
const WORKER: Limits = { connect: 10_000, statement: 20_000, lock: 3_000, transaction: 30_000 }
/** A holder gives up a lease that it could not renew before its end; the timeout leaves room for two tries. */
const RENEWAL: Limits = { connect: 2_000, statement: 2_000, lock: 500, transaction: 2_000 }
const HEALTH: Limits = { connect: 2_000, statement: 2_000, lock: 500, transaction: 2_000 }

/** Two: one works while the other reconnects. */
const RENEWAL_POOL = 2
/** time beyond the statement timeout after which a connection counts as dead */
const ANSWER_GRACE_MS = 2_000
/** a hanging process must not hold its locks for long */
const IDLE_IN_TRANSACTION_MS = 10_000

/** Connects lazily: an unreachable database shows at the first query. */
export function connectDatabase({
  url,
  pooled,
  poolSize,
  workerPoolSize = 5,
  querySeconds = 8,
  log,
}: DatabaseOptions): Database {
  const requests = requestLimits(querySeconds)
  const outage = createOutage(log)
  const listeners = new Set<(sql: string) => void>()
  const set = (limits: Limits) => (pooled ? url : withSessionSettings(url, limits))
  const direct = (limits: Limits) => (pooled?.direct ? withSessionSettings(pooled.direct, limits) : set(limits))
  const tell = (sql: string) => {
    for (const listener of listeners) listener(sql)
  }
  const open = (name: string, max: number, limits: Limits, to = set, idleTimeoutMillis = 10_000, onStatement = tell) =>
    new WatchedPool(
      {
        connectionString: to(limits),
        max,
        keepAlive: true,
        connectionTimeoutMillis: limits.connect,
        idleTimeoutMillis,
        application_name: name,
      },
      { limit: limits.statement + ANSWER_GRACE_MS, outage, onStatement },
    )
  const pools = {
    api: open('pilothouse', poolSize, requests),
    worker: open('pilothouse worker', workerPoolSize, WORKER),
    // never closed when idle: a new connection may be slow
    renewal: open('pilothouse leases', RENEWAL_POOL, RENEWAL, direct, 0),
    // two, so metrics queries don't delay a readiness check
    health: open('pilothouse health', 2, HEALTH),
    // one, so notices that arrive during a send go out together
    wakes: open('pilothouse wakes', 1, HEALTH, set, 10_000, () => undefined),
  }
  const isPooled = pooled !== undefined
  const look = queryOn(pools.wakes, isPooled)
  const wakeUps = createWakeUps(look, log)
  const access = (pool: pg.Pool, { connect, transaction: limit }: Limits): Access => {
    // the pool's timeout fires first, because its error tells more
    const transactionOptions = { maxWait: connect + ANSWER_GRACE_MS, timeout: limit }
    const db = new PrismaClient({ ...withLazyCompiler, adapter: new JoiningAdapter(pool), transactionOptions })
    return { db, query: queryOn(pool, isPooled), transact: transactOn({ pool, prisma: db, limit, isPooled }) }
  }
  const accesses = { requests: access(pools.api, requests), background: access(pools.worker, WORKER) }
  return {
    ...accesses,
    wake: wakeUps.send,
    look,
    pools,
    roundTrip: () => pools.wakes.query('SELECT 1'),
    answers: () =>
      pools.health.query('SELECT 1').then(
        () => true,
        () => false,
      ),
    async renew<Row>({ text, values }: Prisma.Sql) {
      return (await pools.renewal.query(text, values)).rows as Row[]
    },
    onQuery(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      await Promise.all([...Object.values(accesses).map(({ db }) => db.$disconnect()), wakeUps.close()])
      await Promise.all(Object.values(pools).map((pool) => pool.end())) // Prisma does not close a pool that it was given
    },
  }
}

/**
 * A pooler may send the statement to another session, where the prepared name is unknown or different. So it is sent
 * unnamed.
 */
function queryOn(pool: pg.Pool, isPooled: boolean): Query {
  return async <Row>({ name, text }: Statement, values: readonly unknown[]) => {
    const { rows } = await pool.query({ ...(isPooled ? {} : { name }), text, values: values as unknown[] })
    return rows as Row[]
  }
}

/**
 * Adds our session settings to the URL's `options`, because pg lets the URL's `options` replace all others. Order: our
 * limits, the URL's options, our time zone. The adapter writes times without offset and reads them as UTC, so another zone
 * shifts them.
 */
function withSessionSettings(url: string, { statement, lock }: Limits): string {
  const parsed = new URL(url)
  const settings = [
    `-c statement_timeout=${statement} -c lock_timeout=${lock}`,
    `-c idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_MS}`,
    // it takes 7 ms to start workers, longer than most of our statements; and none may use all cores
    '-c max_parallel_workers_per_gather=0',
    parsed.searchParams.get('options'),
    '-c TimeZone=UTC',
  ]
  parsed.searchParams.set('options', settings.filter(Boolean).join(' '))
  return parsed.toString()
}
