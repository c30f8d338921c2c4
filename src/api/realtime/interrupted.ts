/** How a stream ends that is not over: its subscriber reads too slowly, or its server stops. */
import { DomainError } from '../../domain/core/errors.ts'

export class StreamInterruptedError extends DomainError {
  /** everything up to it was delivered: the `after` to subscribe with again */
  readonly cursor: string

  constructor(code: 'STREAM_OVERFLOW' | 'UNAVAILABLE', why: string, cursor: string) {
    super(code, `${why} Nothing is lost: subscribe again with after: "${cursor}".`)
    this.cursor = cursor
  }
}
