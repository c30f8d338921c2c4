/**
 * The error for a step that fails for a reason that users can understand. Its message becomes the revision's `status_message`.
 * Any other error is logged and not shown.
 */
import type { Reason } from '../../domain/protocol/protocol.ts'

export class StepFailure extends Error {
  /** machine-readable; domain/values/reasons.ts says which one to use */
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
