/** Runs verbs that write: with an Idempotency-Key each of them once (docs/api-rules.md#retries). */
import type { RawInput } from '../parsing/parse.ts'
import { type RequestContext, transaction } from './context.ts'
import { Repeated } from './idempotency.ts'

type Verb<T> = (ctx: RequestContext, raw: RawInput) => Promise<T>

/**
 * A verb, or with the caller's Idempotency-Key what it answered the first time. The role is checked as ever, and then what
 * was sent; only then it is answered from the store, so that whoever may not write any more is not answered either.
 */
export async function once<T>(ctx: RequestContext, raw: RawInput, verb: Verb<T>): Promise<T> {
  const guard = ctx.idempotency?.guard()
  if (!guard) return verb(ctx, raw)
  try {
    return await verb({ ...ctx, guard }, withKnown(raw, guard.known))
  } catch (error) {
    if (error instanceof Repeated) return guard.answer(error.entry) as T
    throw error
  }
}

/** For a verb that does many things, each with an outcome of its own: what has to be parsed says whether the key is another request's. */
export const forItems = (ctx: RequestContext, raw: RawInput): RawInput =>
  ctx.idempotency ? withKnown(raw, ctx.idempotency.known) : raw

/** One of the things that such a verb does. It answers nothing. */
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

/** The same call in transactions that are not the one with its outcome. */
export const unguarded = (ctx: RequestContext): RequestContext => ({ ...ctx, guard: undefined })

/** Ends a verb that has written in several transactions: its outcome is stored in a last one. */
export async function settle<T>(ctx: RequestContext, result: T): Promise<T> {
  const { guard } = ctx
  if (guard) await transaction(ctx, async () => guard.keep(result))
  return result
}

function withKnown(raw: RawInput, { refused = [], instead }: Pick<RawInput, 'refused' | 'instead'>): RawInput {
  return { ...raw, refused: [...(raw.refused ?? []), ...refused], instead }
}
