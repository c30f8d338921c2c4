/**
 * Failures carry output and commands to people: hides secrets in their messages, and ends the log with the reason.
 */
import { StepFailure } from './failure.ts'
import type { Mask } from './mask.ts'

/** longest message of a failure, in characters */
const LONGEST = 2000

/** Does the work; a StepFailure it throws is thrown on with its message masked, after its first line was told. */
export async function masking<T>(mask: Mask, tell: (reason: string) => void, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    const message = mask(error.message).slice(0, LONGEST)
    tell(message.split('\n')[0]!)
    throw new StepFailure(error.reason, message, { artifactLost: error.artifactLost })
  }
}
