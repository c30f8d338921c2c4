/** The request scope of a WebSocket message: it counts like a request, but there are no headers to report limits in. */
import type { RequestScope } from '../../limits/request-scope.ts'

/** A message of this size costs about as much as another call. */
const BYTES_PER_CALL = 16 * 1024

export interface MessageScopeOptions {
  /** the client's address key */
  address: string
  bytes: number
  /** aborts when the client no longer waits for the answer */
  gone: AbortSignal
  markAuthenticated?: () => void
}

/** Call `end` after the answer. */
export function createMessageScope({
  address,
  bytes,
  gone,
  markAuthenticated: recognized = () => {},
}: MessageScopeOptions): RequestScope {
  let ended: (() => void)[] | null = []
  return {
    address,
    weight: 1 + Math.floor(bytes / BYTES_PER_CALL),
    keepsLease: false,
    gone,
    reportLimit() {},
    onEnd(done) {
      if (ended) ended.push(done)
      else done()
    },
    end() {
      const waiting = ended ?? []
      ended = null
      for (const done of waiting) done()
    },
    markAuthenticated: recognized,
  }
}
