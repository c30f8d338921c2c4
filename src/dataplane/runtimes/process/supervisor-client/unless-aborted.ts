/** A wait that a signal ends. */
import { AbortScope } from '../../../../platform/async/time-limit.ts'

/** What `work` gives. When the signal aborts, its reason is thrown, at the latest when `undo` is done. */
export async function unlessAborted<T>(
  signal: AbortSignal,
  work: Promise<T>,
  undo: () => Promise<void> = async () => undefined,
): Promise<T> {
  const scope = new AbortScope(signal)
  try {
    return await scope.unlessAborted(work)
  } catch (error) {
    if (signal.aborted) await undo().catch(() => undefined)
    throw error
  } finally {
    scope.end()
  }
}
