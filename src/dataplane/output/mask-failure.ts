/** Masks secrets in failures' messages, which contain output and commands, and logs the reason as the last line. */
import type { LogType } from '../../domain/protocol/protocol.ts'
import type { RevisionLog } from '../runtimes/runtime.ts'
import { type Mask, shortSecretsWarning } from './mask.ts'
import { StepFailure } from './step-failure.ts'

const MAX_MESSAGE_CHARACTERS = 2000

/** Runs `work`. Masks the message of a StepFailure, logs its first line and throws it again. */
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

export function warnOfShortSecrets(
  secrets: readonly { name: string; value: string }[],
  log: RevisionLog,
  type: LogType,
): void {
  const line = shortSecretsWarning(secrets)
  if (line) log.write(type, line, 'warning')
}
