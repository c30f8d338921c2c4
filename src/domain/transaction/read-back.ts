/** Reads a write's answer in its transaction. A later read could show writes, and secrets, of other callers. */
import type { RawInput } from '../parsing/parse.ts'
import type { RequestContext, Sql, Tx } from './context.ts'
import { once } from './once.ts'

/** Runs last before the commit, and again in a retry, so it must only read. `W`: the verb's own result. */
export type ReadBack<W, T> = (tx: Tx, written: W) => Promise<T>

/** A verb that writes. It returns the result of `read`, or without `read` its own result. */
export interface WriteVerb<W> {
  (ctx: RequestContext, raw: RawInput): Promise<W>
  <T>(ctx: RequestContext, raw: RawInput, read: ReadBack<W, T>): Promise<T>
}

/** Makes a verb of `work`, which must end its transaction with `read`. A repeated call gets the same answer. */
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

/** Prisma's part of a selection. A row that is read contains the selected fields, although its type has all fields. */
export interface Selection {
  include?: object
  select?: object
  omit?: object
}

interface Table<Row> {
  findUniqueOrThrow(args: { where: { id: string } }): PromiseLike<Row>
}

export const writtenRow =
  <Row>(table: (sql: Sql) => Table<Row>) =>
  async (tx: Tx, id: string, query: Selection): Promise<Row> =>
    table(tx.sql).findUniqueOrThrow({ ...query, where: { id } })

export interface Written {
  deploymentId: string
  /** the revision that the call created or whose status it changed; null: none */
  revisionId: string | null
}
