/** Waits that an AbortSignal can end. */
import { AbortScope } from '../../../platform/async/time-limit.ts'

/** Waits for `work`. When the signal aborts, runs `undo` and throws the signal's reason. */
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
