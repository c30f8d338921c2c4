/** Verbs that write: each write happens once (docs/api-rules.md#retries), and its answer is read in its transaction. */
import type { RawInput } from '../parsing/parse.ts'
import { type ReadContext, type RequestContext, type Sql, type Tx, transaction, type WriteContext } from './context.ts'
import { Repeated } from './idempotency.ts'

type Verb<T> = (ctx: RequestContext, raw: RawInput) => Promise<T>

/** Makes a verb of `work`, which checks role and input before a stored answer is returned: a caller that lost its role gets none. */
export const once =
  <T>(work: Verb<T>): Verb<T> =>
  async (ctx, raw) => {
    const guard = ctx.idempotency?.guard()
    if (!guard) return work(ctx, raw)
    try {
      return await work({ ...ctx, guard }, withKnown(raw, guard.known))
    } catch (error) {
      if (error instanceof Repeated) return guard.answer(error.entry) as T
      throw error
    }
  }

/** For a verb that does several things. Parsing its input also rejects a key of another request. */
export const forItems = (ctx: ReadContext, raw: RawInput): RawInput =>
  ctx.idempotency ? withKnown(raw, ctx.idempotency.known) : raw

export async function onceForItem(
  ctx: RequestContext,
  item: number,
  work: (ctx: RequestContext) => Promise<void>,
): Promise<void> {
  const guard = ctx.idempotency?.guard(item)
  if (!guard) return work(ctx)
  try {
    if (guard.known.instead) throw guard.known.instead
    await work({ ...ctx, guard })
  } catch (error) {
    if (!(error instanceof Repeated)) throw error
    guard.answer(error.entry)
  }
}

/** The same call for transactions that do not store the outcome. */
export const unguarded = (ctx: RequestContext): RequestContext => ({ ...ctx, guard: undefined })

/** Ends a verb that wrote in several transactions. A last transaction stores its outcome. */
export async function settle<T>(ctx: WriteContext, result: T): Promise<T> {
  const { guard } = ctx
  if (guard) await transaction(ctx, async () => guard.keep(result))
  return result
}

function withKnown(raw: RawInput, { refused = [], instead }: Pick<RawInput, 'refused' | 'instead'>): RawInput {
  return { ...raw, refused: [...(raw.refused ?? []), ...refused], instead }
}

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
  return (ctx: RequestContext, raw: RawInput, read: ReadBack<W, unknown> = async (_tx, written) => written) => {
    const verb = once((own, input) =>
      work(own, input, async (tx, written) => {
        const result = await read(tx, written)
        own.guard?.keep(result)
        return result
      }),
    )
    return verb(ctx, raw) as Promise<never>
  }
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
