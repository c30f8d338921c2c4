/**
 * The error for a step that fails for a reason that users can understand: its message becomes the revision's `status_message`. Any
 * other error is logged and not shown. Detects a full disk by error codes and by programs' output.
 */
import type { Reason } from '../../domain/protocol/protocol.ts'

export class StepFailure extends Error {
  /** machine-readable; domain/errors/reasons.ts says which one to use */
  readonly reason: Reason
  /** DEPLOY: the artifact no longer exists, so the next attempt has to build again */
  readonly artifactLost: boolean
  /** BUILD: it was not started here; a builder elsewhere can do it */
  readonly elsewhere: boolean

  /** `message`: what went wrong and what to do. May end with masked lines of output. */
  constructor(reason: Reason, message: string, options: { artifactLost?: boolean; elsewhere?: boolean } = {}) {
    super(message)
    this.name = 'StepFailure'
    this.reason = reason
    this.artifactLost = options.artifactLost ?? false
    this.elsewhere = options.elsewhere ?? false
  }
}

/** What git, npm, container engines and others print when the disk is full; they have no code for it. */
export const NO_SPACE_OUTPUT = /\bENOSPC\b|\bEDQUOT\b|no space left on device|disk quota exceeded/i

/** Detects a full disk by error codes and by programs' output. */
export const NO_SPACE_MESSAGE = 'There is no space left in DATA_DIR'

export function noSpaceFailure(): StepFailure {
  return new StepFailure('NO_SPACE', `${NO_SPACE_MESSAGE}: free some, then redeploy.`)
}

export function isNoSpaceError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: unknown }
  return (
    code === 'ENOSPC' || code === 'EDQUOT' || NO_SPACE_OUTPUT.test(String(stderr ?? '')) || isNoSpaceError(error.cause)
  )
}
