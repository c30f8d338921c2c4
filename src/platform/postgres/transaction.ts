/**
 * Transactions past Prisma: statements are planned once on each connection and cost a third of what they cost through Prisma's
 * client. Whoever needs Prisma in one gets it, on the same connection and in the same transaction.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts'

/** A statement that is planned once on each connection, under a name that no other text has. Its values are `$1`, `$2` … */
export interface Statement {
  name: string
  text: string
}

/** Runs a statement past Prisma and answers its rows as `pg` reads them. Throws what `pg` throws (errors/database-error.ts). */
export type Query = <Row>(statement: Statement, values: readonly unknown[]) => Promise<Row[]>

/** A transaction that is open, on a connection of its own. Statements are carried out in the order in which they are sent. */
interface OpenTransaction {
  /** for what only reads or locks: it is sent without waiting for those before it, together with what is sent at the same moment */
  query: Query
  /** for what writes: sent when the transaction is known to have begun */
  write: Query
  /** Prisma in this transaction; made when it is first asked for */
  prisma(): Promise<Prisma.TransactionClient>
}

/**
 * Runs `work` in a transaction, once, and commits it; rolls it back when `work` throws. Throws what that throws, or the
 * COMMIT: then it may have been carried out where the connection is lost.
 */
export type Transact = <T>(work: (open: OpenTransaction) => Promise<T>) => Promise<T>

export interface TransactOptions {
  pool: pg.Pool
  prisma: PrismaClient
  /** ms for a whole transaction */
  limit: number
  /** a pooler is between: there a name may be another session's, so statements go without */
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

/** What `pg` does not declare: whether it sends a statement before those sent earlier are answered, and its socket. */
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
    // it shows in what is sent behind it, too
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
    // so Postgres answers where a statement has failed and nobody minded
    if (command === 'ROLLBACK') throw new Error('a statement of this transaction had failed: nothing of it was written')
  }

  /** Whether the connection is of no more use. */
  async rollback(): Promise<boolean> {
    await this.#borrowed?.end()
    return this.#client.query('ROLLBACK').then(
      () => false,
      () => true,
    )
  }

  /** What is sent until the process waits goes to Postgres as one: each write to a socket costs as much as all else of a statement. */
  #together(): void {
    const stream = this.#client.connection?.stream
    if (!stream) return
    stream.cork()
    process.nextTick(() => stream.uncork())
  }

  /** In Postgres' words: a statement's time limit. */
  #requireTime(): void {
    if (performance.now() < this.#endsAt) return
    throw Object.assign(new Error('The transaction took too long.'), { severity: 'ERROR', code: '57014' })
  }
}

/** The connection whose transaction Prisma is to join, in the calls below. */
const lent = new AsyncLocalStorage<pg.PoolClient>()
/** transactions that Prisma has not joined yet */
let lending = 0

/** While anybody may look into it, Node 20 follows each promise of the process, at a tenth of the cost of a request. */
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

/** Prisma's adapter; a transaction that it is to join is somebody else's to begin and to end. */
export class JoiningAdapter extends PrismaPg {
  override async connect(): ReturnType<PrismaPg['connect']> {
    const adapter = await super.connect()
    const start = adapter.startTransaction.bind(adapter)
    adapter.startTransaction = async (isolation) => {
      const client = lent.getStore()
      if (!client) return start(isolation)
      // its statements go where `client` points, as those of the adapter's own transactions do
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
