/** A message of a WebSocket as the limits see it: it is counted like a request, and there are no headers to tell in. */
import type { RequestScope } from '../../limits/request-scope.ts'

/** Bytes of a message that cost about as much as another call. */
const BYTES_PER_CALL = 16 * 1024

export interface MessageScopeOptions {
  /** of the client */
  address: string
  bytes: number
  /** aborts when nobody waits for its answer any more */
  gone: AbortSignal
  markAuthenticated?: () => void
}

/** `over` has to be called when it has been answered. */
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
