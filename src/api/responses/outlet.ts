/**
 * Sends a stream as server-sent events, directly to the response's socket: a group shares one buffer, including HTTP's
 * chunk framing. HTTP/1.1 gets chunks; HTTP/1.0 (some proxies) plain text until the connection ends.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Caller, CredentialWatch } from '../../domain/transaction/access.ts'
import type { Batch, Ending, Frame, Outlet, Rendering } from '../realtime/frames.ts'
import type { Stream } from '../realtime/stream.ts'
import type { Beating, Heartbeat } from './heartbeat.ts'

/** Waiting bytes from which a client is full: less than a proxy buffers, more than a batch. */
const FULL_BUFFER_BYTES = 65_536
/** A client that reads nothing for this time is cut off, without an error that it would not read either. */
const WRITE_STALL_TIMEOUT_MS = 60_000

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // nginx would buffer the events
  'x-accel-buffering': 'no',
}

/** Some browsers show a response only after its first bytes. */
const COMMENT = ':\n\n'
const BEAT = { chunked: chunk(COMMENT), bare: Buffer.from(COMMENT) }

/**
 * Writes the head of a 200 with the response's headers, and takes the response over. `onGone` reports a client that is
 * already gone.
 */
export function openSse(
  response: ServerResponse,
  form: SseFormat,
  heartbeat: Heartbeat,
  stalled = WRITE_STALL_TIMEOUT_MS,
): Outlet {
  return new SseOutlet(response, form, heartbeat, stalled)
}

class SseOutlet implements Outlet, Beating {
  wroteAt = 0
  readonly #response: ServerResponse
  readonly #form: SseFormat
  readonly #heartbeat: Heartbeat
  readonly #encoding: 'chunked' | 'bare'
  readonly #stalled: number
  #leave: (() => void) | null = null
  #waiting: (() => void)[] | null = null
  #ended = false

  constructor(response: ServerResponse, form: SseFormat, heartbeat: Heartbeat, stalled: number) {
    this.#response = response
    this.#stalled = stalled
    this.#form = form
    this.#heartbeat = heartbeat
    // sends the head and the first events together
    const { socket } = response
    socket?.cork()
    process.nextTick(() => socket?.uncork())
    response.writeHead(200, HEADERS)
    response.flushHeaders()
    this.#encoding = response.chunkedEncoding ? 'chunked' : 'bare'
    response.once('close', () => this.#closed())
    // a client that is already gone gets no second report
    if (!response.closed) heartbeat.add(this)
  }

  begin(cursor: string | null): void {
    this.#write(cursor === null ? COMMENT : `:\nid: ${cursor}\n\n`)
  }

  send(batch: Batch): void {
    this.wroteAt = this.#heartbeat.now
    const text = (frames: Batch['frames']) => frames.map((frame) => this.#form.frame(frame)).join('')
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
    // without a socket it waits behind an earlier request of the same connection
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
    // unread data would be kept forever
    if (socket && socket.writableLength > 0) this.#cutOffStalled(socket)
  }

  onGone(leave: () => void): void {
    if (this.#response.closed) leave()
    else this.#leave = leave
  }

  #write(text: string): void {
    const { socket } = this.#response
    if (socket) socket.write(this.#encode(text))
    // Node buffers it with its framing until the socket is free
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

/** The form of the answer, and its caller. */
interface Sending {
  rendering: Rendering
  form: SseFormat
  heartbeat: Heartbeat
  caller: Caller
  /** Absent: credentials aren't watched. */
  credentials: CredentialWatch | undefined
}

/** Takes `response` over, even if its client is gone. Of the request it only keeps the caller. */
export function sendSse(stream: Stream, response: ServerResponse, to: Sending): void {
  const { rendering, form, heartbeat, credentials } = to
  // copies only these, because the watch keeps the object
  const { actor, workspace, credential } = to.caller
  const end = stream.open(rendering, openSse(response, form, heartbeat))
  const stopWatching = credentials?.watch({ actor, workspace, ...(credential && { credential }) }, end)
  if (response.closed) stopWatching?.()
  else if (stopWatching) response.once('close', stopWatching)
}

/** The format of a stream's server-sent events; GraphQL and REST have one each. */
export interface SseFormat {
  /** Names the format: outlets with the same name write the same for a frame. */
  readonly name: string
  /** The lines of one event, with the empty line after it. */
  frame(frame: Frame): string
  /** Written at a clean end; '' for nothing. */
  complete: string
  /** Written at an early end, after everything up to `cursor` was sent. */
  error(error: unknown, cursor?: string): string
}

/** One event; `data` must be one line. */
export function sseEvent({ id, event, data }: { id?: string; event?: string; data: string }): string {
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`
}
