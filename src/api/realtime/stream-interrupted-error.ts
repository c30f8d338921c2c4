/** The early end of a stream: its subscriber reads too slowly, or its server stops. */
import { DomainError } from '../../domain/errors/errors.ts'

export class StreamInterruptedError extends DomainError {
  /** The `after` to subscribe with again; null: nothing was delivered, so repeat the first subscription. */
  readonly cursor: string | null

  constructor(code: 'STREAM_OVERFLOW' | 'UNAVAILABLE', why: string, cursor: string | null) {
    super(code, `${why} Nothing is lost: subscribe again${cursor === null ? '' : ` with after: "${cursor}"`}.`)
    this.cursor = cursor
  }
}
