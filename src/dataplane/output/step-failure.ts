/**
 * The one error by which a runtime says that a step has failed for a reason people can understand. Its
 * message becomes the revision's `status_message`; anything else that is thrown is logged and not shown.
 */
import type { Reason } from '../../domain/protocol/protocol.ts'

export class StepFailure extends Error {
  /** for machines; see domain/reasons.ts for which one to give */
  readonly reason: Reason
  /** DEPLOY: the artifact is not on this machine any more, the next attempt has to build again */
  readonly artifactLost: boolean
  /** BUILD: it was not begun; a builder elsewhere may do it */
  readonly elsewhere: boolean

  /** `message` says what went wrong and what to do about it. It may carry last lines of output, secrets masked. */
  constructor(reason: Reason, message: string, options: { artifactLost?: boolean; elsewhere?: boolean } = {}) {
    super(message)
    this.name = 'StepFailure'
    this.reason = reason
    this.artifactLost = options.artifactLost ?? false
    this.elsewhere = options.elsewhere ?? false
  }
}
