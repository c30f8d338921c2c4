/**
 * A stream as server-sent events, written past everything to the socket of a response: what all of a group get is one buffer,
 * with HTTP's chunk around it already. HTTP/1.1 gets chunks, HTTP/1.0 (some proxies) the bare text until the connection ends.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Batch, Ending, Outlet } from '../realtime/frames.ts'
import type { Beating, Heartbeat } from './heartbeat.ts'
import type { SseFormat } from './sse-format.ts'

/** Bytes that may wait for a client before it gets no more: less than a proxy buffers, more than a batch. */
const FULL_BUFFER_BYTES = 65_536
/** ms in which a client has to take something of what waits for it; then it is cut off: whoever reads nothing hears of no error */
const WRITE_STALL_TIMEOUT_MS = 60_000

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // nginx would collect what comes
  'x-accel-buffering': 'no',
}

/** Some browsers show nothing of a response before its first bytes. */
const COMMENT = ':\n\n'
const BEAT = { chunked: chunk(COMMENT), bare: Buffer.from(COMMENT) }

/**
 * Writes the head of a 200, with the headers that `response` has already, and takes the response over. A client that is gone
 * is told by `onGone`.
 */
export function openSse<Value>(
  response: ServerResponse,
  form: SseFormat<Value>,
  heartbeat: Heartbeat,
  stalled = WRITE_STALL_TIMEOUT_MS,
): Outlet<Value> {
  return new SseOutlet(response, form, heartbeat, stalled)
}

class SseOutlet<Value> implements Outlet<Value>, Beating {
  wroteAt = 0
  readonly #response: ServerResponse
  readonly #form: SseFormat<Value>
  readonly #heartbeat: Heartbeat
  readonly #encoding: 'chunked' | 'bare'
  readonly #stalled: number
  #leave: (() => void) | null = null
  #waiting: (() => void)[] | null = null
  #ended = false

  constructor(response: ServerResponse, form: SseFormat<Value>, heartbeat: Heartbeat, stalled: number) {
    this.#response = response
    this.#stalled = stalled
    this.#form = form
    this.#heartbeat = heartbeat
    // the head and what the stream begins with leave together
    const { socket } = response
    socket?.cork()
    process.nextTick(() => socket?.uncork())
    response.writeHead(200, HEADERS)
    response.flushHeaders()
    this.#encoding = response.chunkedEncoding ? 'chunked' : 'bare'
    response.once('close', () => this.#closed())
    // of a client that was gone before nobody is told again
    if (!response.closed) heartbeat.add(this)
  }

  begin(cursor: string | null): void {
    this.#write(cursor === null ? COMMENT : `:\nid: ${cursor}\n\n`)
  }

  send(batch: Batch<Value>): void {
    this.wroteAt = this.#heartbeat.now
    const text = (frames: Batch<Value>['frames']) => frames.map((frame) => this.#form.frame(frame)).join('')
    const { socket } = this.#response
    if (socket)
      socket.write(batch.encoded(`sse ${this.#form.name} ${this.#encoding}`, (frames) => this.#encode(text(frames))))
    else this.#write(text(batch.frames))
  }

  beat(): void {
    if (!this.full) this.#response.socket?.write(BEAT[this.#encoding])
  }

  get full(): boolean {
    const { socket, closed } = this.#response
    // without a socket it waits for the answer of a request that came before it on the same connection
    return socket ? socket.writableLength > FULL_BUFFER_BYTES : !closed
  }

  async drained(): Promise<void> {
    if (!this.full) return
    await new Promise<void>((resolve) => {
      if (this.#waiting) this.#waiting.push(resolve)
      else {
        this.#waiting = [resolve]
        const { socket } = this.#response
        if (socket) {
          socket.once('drain', () => this.#wake())
          this.#cutOffStalled(socket)
        } else this.#response.once('socket', () => setImmediate(() => this.#wake()))
      }
    })
  }

  end(how: Ending): void {
    if (this.#ended) return
    this.#ended = true
    this.#heartbeat.delete(this)
    const text = 'error' in how ? this.#form.error(how.error, how.cursor) : this.#form.complete
    if (text !== '') this.#write(text)
    const { socket } = this.#response
    this.#response.end()
    // what it never takes would be kept for good
    if (socket && socket.writableLength > 0) this.#cutOffStalled(socket)
  }

  onGone(leave: () => void): void {
    if (this.#response.closed) leave()
    else this.#leave = leave
  }

  #write(text: string): void {
    const { socket } = this.#response
    if (socket) socket.write(this.#encode(text))
    // Node keeps it, with what it puts around it, until the socket is there
    else if (!this.#response.closed) this.#response.write(text)
  }

  #encode(text: string): Buffer {
    return this.#encoding === 'chunked' ? chunk(text) : Buffer.from(text)
  }

  /** Watches until nothing waits any more. */
  #cutOffStalled(socket: Socket): void {
    const before = socket.writableLength
    const timer = setTimeout(() => {
      if (socket.writableLength >= before) socket.destroy()
      else if (socket.writableLength > 0) this.#cutOffStalled(socket)
    }, this.#stalled).unref()
    socket.once('drain', () => clearTimeout(timer))
  }

  #wake(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = null
    for (const resolve of waiting) resolve()
  }

  #closed(): void {
    this.#heartbeat.delete(this)
    this.#wake()
    if (this.#ended) return
    this.#ended = true
    this.#leave?.()
  }
}

/** `text` as one chunk of HTTP/1.1's chunked coding. */
function chunk(text: string): Buffer {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}
