/**
 * The other end of a WebSocket: what is sent to it, and whether it is still there. One that answers no ping is gone; of one
 * that does not take what it is sent nothing more is read; one that only talks is sent away.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** Bytes that may wait for a client before its streams get no more. */
const MAX_BUFFERED_BYTES = 65_536
/** Bytes that may wait before nothing more is read of what it sends. */
const PAUSE_READING_BYTES = 1024 * 1024
/** Pings without an answer after which a client is gone. Of a busy event loop the last answer may not be read yet. */
const MAX_UNANSWERED_PINGS = 2
/** Messages between two beats beyond those that begin operations, which are counted like requests. */
const MAX_MESSAGES_PER_INTERVAL = 2_000
/** ms that a client has to answer a close */
const CLOSE_TIMEOUT_MS = 3_000
/** Bytes of a reason (RFC 6455, 5.5). */
const MAX_REASON_BYTES = 123

export class Peer {
  readonly #socket: WebSocket
  readonly #transport: Socket
  #unansweredPings = 0
  #messages = 0
  #isPaused = false
  #closing = false
  #waiting: (() => void)[] = []

  /** `connection`: what the WebSocket runs on. */
  constructor(socket: WebSocket, transport: Socket) {
    this.#socket = socket
    this.#transport = transport
    socket.on('pong', () => {
      this.#unansweredPings = 0
    })
    transport.on('drain', () => this.#handleDrain())
    transport.once('close', () => this.#handleDrain())
    // the end of it is what matters, not why
    socket.on('error', () => {})
  }

  /** It sent something. False: nobody listens any more. */
  countMessage(): boolean {
    this.#unansweredPings = 0
    if (++this.#messages > MAX_MESSAGES_PER_INTERVAL) this.close(1008, 'Too many messages.')
    return !this.#closing
  }

  /** That was an operation, which is counted as one. */
  discountOperation(): void {
    this.#messages--
  }

  /** Several texts at once go out in one piece. */
  send(texts: readonly string[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#transport.cork()
    for (const text of texts) this.#socket.send(text)
    this.#transport.uncork()
    if (this.#transport.writableLength <= PAUSE_READING_BYTES || this.#isPaused) return
    this.#isPaused = true
    this.#socket.pause()
  }

  get full(): boolean {
    return this.#transport.writableLength > MAX_BUFFERED_BYTES && !this.#transport.destroyed
  }

  /** Resolves when it is not full any more, or gone. */
  async drained(): Promise<void> {
    if (this.full) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** To be called again and again: asks whether it is there, and ends it where that was not answered since. */
  pingOrTerminate(): void {
    this.#messages = 0
    if (this.#unansweredPings >= MAX_UNANSWERED_PINGS) this.#socket.terminate()
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
    this.#unansweredPings++
  }

  /** `reason`: for people, cut to what fits. */
  close(code: number, reason: string): void {
    if (this.#closing) return
    this.#closing = true
    this.#socket.resume()
    this.#socket.close(
      code,
      Buffer.from(reason)
        .subarray(0, MAX_REASON_BYTES)
        .toString()
        .replace(/\uFFFD+$/, ''),
    )
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  #handleDrain(): void {
    if (this.#isPaused) {
      this.#isPaused = false
      this.#socket.resume()
    }
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
