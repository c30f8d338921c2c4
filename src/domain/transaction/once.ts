/** Runs verbs that write. With an Idempotency-Key each write happens once (docs/api-rules.md#retries). */
import type { RawInput } from '../parsing/parse.ts'
import { type RequestContext, transaction } from './context.ts'
import { Repeated } from './idempotency.ts'

type Verb<T> = (ctx: RequestContext, raw: RawInput) => Promise<T>

/** Checks role and input before it returns a stored answer, so a caller that lost its role gets none. */
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

/** For a verb that does several things. Parsing its input also rejects a key of another request. */
export const forItems = (ctx: RequestContext, raw: RawInput): RawInput =>
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
export async function settle<T>(ctx: RequestContext, result: T): Promise<T> {
  const { guard } = ctx
  if (guard) await transaction(ctx, async () => guard.keep(result))
  return result
}

function withKnown(raw: RawInput, { refused = [], instead }: Pick<RawInput, 'refused' | 'instead'>): RawInput {
  return { ...raw, refused: [...(raw.refused ?? []), ...refused], instead }
}
