/**
 * Reads the answer of a write in its transaction, while the locks are held (docs/api-rules.md#errors).
 * A read after the commit could show later writes of other callers, including their secrets.
 */
import type { RawInput } from '../parsing/parse.ts'
import type { RequestContext, Sql, Tx } from './context.ts'
import { once } from './once.ts'

/**
 * Reads the answer of a write, last before the commit. It must only read, and runs again when the transaction is
 * retried. `W`: what the verb itself knows of what it has written.
 */
export type ReadBack<W, T> = (tx: Tx, written: W) => Promise<T>

/** A verb that writes. Answers what `read` reads in its transaction; without it, what the verb itself knows. */
export interface WriteVerb<W> {
  (ctx: RequestContext, raw: RawInput): Promise<W>
  <T>(ctx: RequestContext, raw: RawInput, read: ReadBack<W, T>): Promise<T>
}

/** Makes one of `work`, which ends its transaction with `read`: what that gives is also what a repeat is answered. */
export function writeVerb<W>(
  work: <T>(ctx: RequestContext, raw: RawInput, read: ReadBack<W, T>) => Promise<T>,
): WriteVerb<W> {
  return (ctx: RequestContext, raw: RawInput, read: ReadBack<W, unknown> = async (_tx, written) => written) =>
    once(ctx, raw, (own, input) =>
      work(own, input, async (tx, written) => {
        const result = await read(tx, written)
        own.guard?.keep(result)
        return result
      }),
    ) as Promise<never>
}

/** Prisma's part of a selection. The row that is read has what is selected, whatever its type says. */
export interface Selection {
  include?: object
  select?: object
  omit?: object
}

interface Table<Row> {
  findUniqueOrThrow(args: { where: { id: string } }): PromiseLike<Row>
}

/** For a table: reads what `query` selects of the row that was written, in its transaction. */
export const writtenRow =
  <Row>(table: (sql: Sql) => Table<Row>) =>
  async (tx: Tx, id: string, query: Selection): Promise<Row> =>
    table(tx.sql).findUniqueOrThrow({ ...query, where: { id } })

/** What a write to a deployment has written. */
export interface Written {
  deploymentId: string
  /** the revision that this call made, or whose status it changed; null: none */
  revisionId: string | null
}
