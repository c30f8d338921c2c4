/** A message of a WebSocket as the limits see it: it is counted like a request, and there are no headers to tell in. */
import type { Visit } from '../../limits/request-scope.ts'

/** Bytes of a message that cost about as much as another call. */
const CALL = 16 * 1024

export interface Message {
  /** of the client */
  address: string
  bytes: number
  /** aborts when nobody waits for its answer any more */
  gone: AbortSignal
  recognized?: () => void
}

/** `over` has to be called when it has been answered. */
export function visitOf({ address, bytes, gone, recognized = () => {} }: Message): Visit {
  let ended: (() => void)[] | null = []
  return {
    address,
    weight: 1 + Math.floor(bytes / CALL),
    keepsLease: false,
    gone,
    tell() {},
    onEnd(done) {
      if (ended) ended.push(done)
      else done()
    },
    over() {
      const waiting = ended ?? []
      ended = null
      for (const done of waiting) done()
    },
    recognized,
  }
}
