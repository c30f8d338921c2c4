/**
 * The database as a process uses it: pools of their own for the API, the worker, the renewal of leases, health and wake-ups, so
 * that nobody waits for what somebody else has used up; and every statement can be observed (the tests count them).
 */
import type pg from 'pg'
import { type Prisma, PrismaClient } from '../../generated/prisma/client.ts'
import type { Log } from '../log/log.ts'
import { WatchedPool } from './connection.ts'
import { createOutage } from './outage.ts'
import { withLazyCompiler } from './prisma-compiler.ts'
import { JoiningAdapter, type Query, type Statement, type Transact, transactOn } from './transaction.ts'
import { createWakeUps } from './wake-ups.ts'

export interface Database {
  /** for requests */
  prisma: PrismaClient
  /** for hot reads of requests, on the same connections */
  query: Query
  /** for what requests write, on the same connections */
  transact: Transact
  /** for what the server does by itself: its worker, sweeps, jobs */
  worker: PrismaClient
  /** as `query`, on the worker's connections */
  workerQuery: Query
  /** as `transact`, on the worker's connections */
  workerTransact: Transact
  /** for the renewal of leases, which is one short statement, and nothing else: it must not wait for anything */
  renew<Row>(statement: Prisma.Sql): Promise<Row[]>
  /** Wakes who listens, after a commit (wake-ups.ts). Tests that count statements don't see it: it is nobody's in particular. */
  wake(notices: Iterable<string>): void
  /** for short looks that come again and again whatever happens, on the connection of wake-ups: not seen by tests either */
  look: Query
  /** that of requests */
  pool: pg.Pool
  /** for short looks that must not wait for requests: of those who watch the server, and of the watch of keys */
  health: pg.Pool
  /** whether the database answers, within the limits of the pool `health` */
  answers(): Promise<boolean>
  /** One round trip. Rejects while the database is away. Tests don't see it. */
  roundTrip(): Promise<void>
  /** all of them, by what they are for */
  pools: Readonly<Record<'api' | 'worker' | 'renewal' | 'health' | 'wakes', pg.Pool>>
  /** Calls `listener` with the text of each statement, `BEGIN` and `COMMIT` too, as it is sent; but for wake-ups. Returns its end. */
  onQuery(listener: (sql: string) => void): () => void
  /** Waits for running queries, then closes every connection. */
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** `postgresql://…` */
  url: string
  /**
   * `url` is a pooler, which refuses settings of a session: there they stand at the role (pooler.ts). `direct`: past it, for
   * the renewal of leases, since those who fill the pooler up must not hold it up; null: there is none.
   */
  pooled?: { direct: string | null }
  /** the most connections of requests */
  poolSize: number
  /** the most connections of the worker and its like; default 5 */
  workerPoolSize?: number
  /** how long a statement of a request may take, and the wait for a connection; default 8 */
  querySeconds?: number
  log?: Log
}

/** What bounds the waits of one pool, in ms. */
interface Limits {
  /** for a connection: one that is free, or a new one */
  connect: number
  /** for one statement, waits for locks included; Postgres cancels it */
  statement: number
  /** for one lock */
  lock: number
  /** for a whole transaction */
  transaction: number
}

/** `seconds`: for one statement, or a connection. A lock gives up before its statement does: that tells more. */
const requestLimits = (seconds: number): Limits => ({
  connect: seconds * 1000,
  statement: seconds * 1000,
  lock: Math.min(5_000, seconds * 500),
  transaction: seconds * 2000,
})
/** Sweeps look at much. */
const WORKER: Limits = { connect: 10_000, statement: 20_000, lock: 3_000, transaction: 30_000 }
/** A holder gives a lease up that it has not heard of in time, and wants to try twice. */
const RENEWAL: Limits = { connect: 2_000, statement: 2_000, lock: 500, transaction: 2_000 }
const HEALTH: Limits = { connect: 2_000, statement: 2_000, lock: 500, transaction: 2_000 }

/** Two: one answers while the other one is opened again. */
const RENEWAL_POOL = 2
/** ms that the answer to a statement may take beyond what Postgres gives it: then the connection is silent */
const ANSWER_GRACE_MS = 2_000
/** ms that a transaction may do nothing: a process that hangs in one must not hold its locks for long */
const IDLE_IN_TRANSACTION_MS = 10_000

/** Connects lazily: a database that can't be reached shows at the first query. */
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
      {
        limit: limits.statement + ANSWER_GRACE_MS,
        outage,
        onStatement,
      },
    )
  const pools = {
    api: open('pilothouse', poolSize, requests),
    worker: open('pilothouse worker', workerPoolSize, WORKER),
    // never closed for being idle: to connect is one more thing that can take its time
    renewal: open('pilothouse leases', RENEWAL_POOL, RENEWAL, direct, 0),
    // two: what metrics count keeps nobody waiting who asks whether the server is ready
    health: open('pilothouse health', 2, HEALTH),
    // one: what comes while some are sent is sent together
    wakes: open('pilothouse wakes', 1, HEALTH, set, 10_000, () => undefined),
  }
  const isPooled = pooled !== undefined
  const wakeUps = createWakeUps(queryOn(pools.wakes, isPooled), log)
  const prisma = client(pools.api, requests)
  const worker = client(pools.worker, WORKER)
  const transact = (pool: pg.Pool, prisma: PrismaClient, { transaction: limit }: Limits) =>
    transactOn({ pool, prisma, limit, isPooled })
  return {
    prisma,
    query: queryOn(pools.api, isPooled),
    transact: transact(pools.api, prisma, requests),
    worker,
    workerQuery: queryOn(pools.worker, isPooled),
    workerTransact: transact(pools.worker, worker, WORKER),
    wake: wakeUps.send,
    look: queryOn(pools.wakes, isPooled),
    pool: pools.api,
    health: pools.health,
    pools,
    async roundTrip() {
      await pools.wakes.query('SELECT 1')
    },
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
      await Promise.all([prisma.$disconnect(), worker.$disconnect(), wakeUps.close()])
      await Promise.all(Object.values(pools).map((pool) => pool.end())) // Prisma leaves a pool that it was given open
    },
  }
}

function client(pool: pg.Pool, { connect, transaction }: Limits): PrismaClient {
  return new PrismaClient({
    ...withLazyCompiler,
    adapter: new JoiningAdapter(pool),
    // the pool's own limit comes first, and tells more
    transactionOptions: { maxWait: connect + ANSWER_GRACE_MS, timeout: transaction },
  })
}

/** Through a pooler a name may be another session's, so there it goes without. */
function queryOn(pool: pg.Pool, isPooled: boolean): Query {
  return async <Row>({ name, text }: Statement, values: readonly unknown[]) => {
    const { rows } = await pool.query({ ...(isPooled ? {} : { name }), text, values: values as unknown[] })
    return rows as Row[]
  }
}

/**
 * Adds our session settings to those that the URL may bring, since pg lets the URL's `options` replace all others. The
 * URL's come after our limits and before the time zone: the adapter writes times without an offset and reads them as
 * UTC, so any other zone shifts every value.
 */
function withSessionSettings(url: string, { statement, lock }: Limits): string {
  const parsed = new URL(url)
  const settings = [
    `-c statement_timeout=${statement} -c lock_timeout=${lock}`,
    `-c idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_MS}`,
    parsed.searchParams.get('options'),
    '-c TimeZone=UTC',
  ]
  parsed.searchParams.set('options', settings.filter(Boolean).join(' '))
  return parsed.toString()
}
