/** Ends a long poll when the caller's credential ends. */
import { AbortScope } from '../../platform/async/time-limit.ts'
import type { RequestContext } from './context.ts'

/** `work` polls until `signal` aborts, and calls `enter` before it waits. Throws UnauthenticatedError. */
export async function whileValid<T, Leave extends (() => void) | null>(
  ctx: RequestContext,
  take: () => Leave,
  work: (signal: AbortSignal, enter: () => (() => void) | (Leave & null)) => Promise<T>,
): Promise<T> {
  const scope = new AbortScope(ctx.client?.gone)
  let refused: Error | null = null
  const enter = () => {
    const leave = take()
    if (!leave) return leave as Leave & null
    const unwatch = ctx.credentials?.watch(ctx, (error) => {
      refused = error
      scope.abort(error)
    })
    return () => {
      unwatch?.()
      leave()
    }
  }
  try {
    const found = await work(scope.signal, enter)
    if (refused) throw refused
    return found
  } finally {
    scope.end()
  }
}
