/**
 * The responses of the door. Its parts set members and replace no methods: V8 keeps an object to which a function was assigned until the
 * next full garbage collection, and all collections before take longer.
 */
import http from 'node:http'
import http2 from 'node:http2'
import type { Entry } from './access-log-entry.ts'

/** time for a client to read its last bytes, in ms */
const FLUSH_MS = 5000

/** What the parts of the door set. */
interface Hooks {
  /** `performance.now()` */
  readonly receivedAt: number
  /** of the access log; null: there is none */
  entry: Entry | null
  /** called before the headers are sent */
  beforeHeaders: (() => void) | null
  /** When the agent is ended on purpose, a body of unknown length is completed when httpxy destroys the response. */
  agent: { isEnding: boolean } | null
}

export type DoorResponse = http.ServerResponse & Hooks

type ResponseClass = new (...args: never[]) => http.ServerResponse

const withHooks = (base: ResponseClass, { endWrites }: { endWrites: boolean }) =>
  class extends base implements Hooks {
    readonly receivedAt = performance.now()
    entry: Entry | null = null
    beforeHeaders: (() => void) | null = null
    agent: { isEnding: boolean } | null = null

    override writeHead(...args: unknown[]): this {
      this.beforeHeaders?.()
      if (this.entry) this.entry.firstByteAt ??= performance.now()
      return super.writeHead(...(args as [number]))
    }

    override write(...args: unknown[]): boolean {
      count(this.entry, args[0])
      return super.write(...(args as [string]))
    }

    override end(...args: unknown[]): this {
      if (!endWrites) count(this.entry, args[0])
      return super.end(...(args as []))
    }

    override destroy(error?: Error): this {
      if (this.entry) this.entry.endedBy ??= 'agent'
      if (!this.agent?.isEnding || !this.headersSent || this.hasHeader('content-length')) return super.destroy(error)
      // the client does not see that the answer was cut
      if (!this.writableEnded && this.entry) this.entry.endedBy = 'agent'
      if (!this.writableEnded) this.end()
      setTimeout(() => super.destroy(error), FLUSH_MS).unref()
      return this
    }
  }

function count(entry: Entry | null, chunk: unknown): void {
  if (entry && (typeof chunk === 'string' || chunk instanceof Uint8Array)) entry.bytesOut += Buffer.byteLength(chunk)
}

/** for `http.createServer` */
export const Http1Response = withHooks(http.ServerResponse, {
  endWrites: false,
}) as unknown as typeof http.ServerResponse

/** for `http2.createServer` */
export class Http2Response extends withHooks(http2.Http2ServerResponse as unknown as ResponseClass, {
  endWrites: true,
}) {
  /** Resets the stream with an error code: a truncated answer must not look complete. */
  override destroy(error = new Error('The answer is incomplete.')): this {
    return super.destroy(error)
  }
}

// Node's has none
Object.defineProperty(Http2Response.prototype, 'destroyed', {
  get(this: http2.Http2ServerResponse): boolean {
    return this.stream.destroyed
  },
})
