/**
 * Failures carry output and commands to people: hides secrets in their messages, and ends the log with the reason.
 */

import type { LogType } from '../../domain/protocol/protocol.ts'
import type { RevisionLog } from '../runtimes/runtime.ts'
import { type Mask, shortSecretsWarning } from './mask.ts'
import { StepFailure } from './step-failure.ts'

/** longest message of a failure, in characters */
const MAX_MESSAGE_CHARACTERS = 2000

/** Does the work; a StepFailure it throws is thrown on with its message masked, after its first line was logged. */
export async function maskFailures<T>(
  mask: Mask,
  logReason: (reason: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    const message = mask(error.message).slice(0, MAX_MESSAGE_CHARACTERS)
    logReason(message.split('\n')[0]!)
    throw new StepFailure(error.reason, message, { artifactLost: error.artifactLost })
  }
}

/** The first line of a log, if need be: which secrets are not hidden in it. */
export function warnOfShortSecrets(
  secrets: readonly { name: string; value: string }[],
  log: RevisionLog,
  type: LogType,
): void {
  const line = shortSecretsWarning(secrets)
  if (line) log.write(type, line, 'warning')
}
