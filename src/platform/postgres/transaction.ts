/**
 * Transactions with raw prepared statements, which cost a third of Prisma's. Prisma can join the same transaction on the
 * same connection.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts'

/** A prepared statement. Each text has a unique name. Values are `$1`, `$2` … */
export interface Statement {
  name: string
  text: string
}

/** Runs a raw statement and returns its rows as `pg` parses them. Throws `pg` errors (errors/database-error.ts). */
export type Query = <Row>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>

/** An open transaction on its connection. Statements run in the order in which they are sent. */
interface OpenTransaction {
  /** for reads and locks: sent without waiting for earlier responses, together with other statements of the same turn */
  query: Query
  /** for writes: sent only after BEGIN has succeeded */
  write: Query
  /** Prisma in this transaction; created on first use */
  prisma(): Promise<Prisma.TransactionClient>
}

/**
 * Runs `work` once in a transaction and commits; rolls back when `work` throws. Throws the error of `work` or of COMMIT. If
 * the connection breaks during COMMIT, the commit may have succeeded.
 */
export type Transact = <T>(work: (open: OpenTransaction) => Promise<T>) => Promise<T>

export interface TransactOptions {
  pool: pg.Pool
  prisma: PrismaClient
  /** timeout of the whole transaction in ms */
  limit: number
  /** a pooler may use another session, so statements are sent without a name */
  isPooled: boolean
}

export function transactOn({ pool, prisma, limit, isPooled }: TransactOptions): Transact {
  return async <T>(work: (open: OpenTransaction) => Promise<T>): Promise<T> => {
    const client: Pipelined = await pool.connect()
    client.pipeline = true
    const transaction = new Transaction(client, prisma, limit, isPooled)
    let isLost = false
    try {
      const result = await work(transaction)
      await transaction.commit()
      return result
    } catch (error) {
      isLost = await transaction.rollback()
      throw error
    } finally {
      client.pipeline = false
      client.release(isLost)
    }
  }
}

/** Undeclared `pg` members: pipelining (statements are sent before earlier responses arrive) and the socket. */
type Pipelined = pg.PoolClient & {
  pipeline?: boolean
  connection?: { stream: { cork(): void; uncork(): void } }
}

class Transaction implements OpenTransaction {
  readonly #client: Pipelined
  readonly #prisma: PrismaClient
  readonly #isPooled: boolean
  readonly #endsAt: number
  #borrowed: { client: Promise<Prisma.TransactionClient>; end(): Promise<unknown> } | null = null

  readonly #begun: Promise<unknown>

  constructor(client: Pipelined, prisma: PrismaClient, limit: number, isPooled: boolean) {
    this.#client = client
    this.#prisma = prisma
    this.#isPooled = isPooled
    this.#endsAt = performance.now() + limit
    this.#together()
    this.#begun = client.query('BEGIN')
    // later statements fail with the same error
    this.#begun.catch(() => {})
  }

  readonly write: Query = async (statement, values) => {
    await this.#begun
    return this.query(statement, values)
  }

  readonly query = async <Row>({ name, text }: Statement, values: readonly unknown[]): Promise<Row[]> => {
    this.#requireTime()
    this.#together()
    const { rows } = await this.#client.query({
      ...(this.#isPooled ? {} : { name }),
      text,
      values: values as unknown[],
    })
    return rows as Row[]
  }

  async prisma(): Promise<Prisma.TransactionClient> {
    await this.#begun
    this.#borrowed ??= lend(this.#prisma, this.#client)
    return this.#borrowed.client
  }

  async commit(): Promise<void> {
    await this.#borrowed?.end()
    await this.#begun
    this.#requireTime()
    const { command } = await this.#client.query('COMMIT')
    // Postgres responds so when a statement had failed and its error was ignored
    if (command === 'ROLLBACK') throw new Error('a statement of this transaction had failed: nothing of it was written')
  }

  /** Returns whether the connection is unusable. */
  async rollback(): Promise<boolean> {
    await this.#borrowed?.end()
    return this.#client.query('ROLLBACK').then(
      () => false,
      () => true,
    )
  }

  /** Collects statements of this turn into one socket write, which costs as much as the rest of a statement. */
  #together(): void {
    const stream = this.#client.connection?.stream
    if (!stream) return
    stream.cork()
    process.nextTick(() => stream.uncork())
  }

  /** Throws an error like Postgres's statement timeout. */
  #requireTime(): void {
    if (performance.now() < this.#endsAt) return
    throw Object.assign(new Error('The transaction took too long.'), { severity: 'ERROR', code: '57014' })
  }
}

/** Connection whose transaction Prisma joins, for the calls below. */
const lent = new AsyncLocalStorage<pg.PoolClient>()
/** number of transactions that Prisma has not joined yet */
let lending = 0

/** While the AsyncLocalStorage is enabled, Node 20 tracks each promise, at a tenth of a request's cost. */
function joinedOrNot(): void {
  lending--
  if (lending === 0) lent.disable()
}

function lend(prisma: PrismaClient, connection: pg.PoolClient) {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let over: Promise<unknown> = ended
  const client = new Promise<Prisma.TransactionClient>((resolve, reject) => {
    const join = (joined: Prisma.TransactionClient) => {
      resolve(joined)
      return ended
    }
    lending++
    over = lent.run(connection, () => prisma.$transaction(join)).catch(reject)
  })
  client.then(joinedOrNot, joinedOrNot)
  return {
    client,
    end() {
      end()
      return over
    },
  }
}

/** Prisma's adapter. A joined transaction is begun and ended by its owner, not by Prisma. */
export class JoiningAdapter extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect()
    const start = adapter.startTransaction.bind(adapter)
    adapter.startTransaction = async (isolation) => {
      const client = lent.getStore()
      if (!client) return start(isolation)
      // its statements go to `client`, like those of the adapter's own transactions
      return Object.assign(Object.create(adapter), {
        client,
        options: { usePhantomQuery: true },
        commit: async () => {},
        rollback: async () => {},
      })
    }
    return adapter
  }
}
