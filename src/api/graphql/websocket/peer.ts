/**
 * The other end of a WebSocket: what is sent to it, and whether it is still there. One that answers no ping is gone; of one
 * that does not take what it is sent nothing more is read; one that only talks is sent away.
 */
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'

/** Bytes that may wait for a client before its streams get no more. */
const FULL = 65_536
/** Bytes that may wait before nothing more is read of what it sends. */
const DEAF = 1024 * 1024
/** Pings without an answer after which a client is gone. Of a busy event loop the last answer may not be read yet. */
const MOST_UNANSWERED = 2
/** Messages between two beats beyond those that begin operations, which are counted like requests. */
const MOST_TALK = 2_000
/** ms that a client has to answer a close */
const FAREWELL = 3_000
/** Bytes of a reason (RFC 6455, 5.5). */
const LONGEST_REASON = 123

export class Peer {
  readonly #socket: WebSocket
  readonly #connection: Socket
  #unanswered = 0
  #talk = 0
  #deaf = false
  #closing = false
  #waiting: (() => void)[] = []

  /** `connection`: what the WebSocket runs on. */
  constructor(socket: WebSocket, connection: Socket) {
    this.#socket = socket
    this.#connection = connection
    socket.on('pong', () => {
      this.#unanswered = 0
    })
    connection.on('drain', () => this.#drained())
    connection.once('close', () => this.#drained())
    // the end of it is what matters, not why
    socket.on('error', () => {})
  }

  /** It sent something. False: nobody listens any more. */
  talked(): boolean {
    this.#unanswered = 0
    if (++this.#talk > MOST_TALK) this.close(1008, 'Too many messages.')
    return !this.#closing
  }

  /** That was an operation, which is counted as one. */
  asked(): void {
    this.#talk--
  }

  /** Several texts at once go out in one piece. */
  send(texts: readonly string[]): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    this.#connection.cork()
    for (const text of texts) this.#socket.send(text)
    this.#connection.uncork()
    if (this.#connection.writableLength <= DEAF || this.#deaf) return
    this.#deaf = true
    this.#socket.pause()
  }

  get full(): boolean {
    return this.#connection.writableLength > FULL && !this.#connection.destroyed
  }

  /** Resolves when it is not full any more, or gone. */
  async drained(): Promise<void> {
    if (this.full) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** To be called again and again: asks whether it is there, and ends it where that was not answered since. */
  beat(): void {
    this.#talk = 0
    if (this.#unanswered >= MOST_UNANSWERED) this.#socket.terminate()
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
    this.#unanswered++
  }

  /** `reason`: for people, cut to what fits. */
  close(code: number, reason: string): void {
    if (this.#closing) return
    this.#closing = true
    this.#socket.resume()
    this.#socket.close(
      code,
      Buffer.from(reason)
        .subarray(0, LONGEST_REASON)
        .toString()
        .replace(/\uFFFD+$/, ''),
    )
    const timer = setTimeout(() => this.#socket.terminate(), FAREWELL).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  #drained(): void {
    if (this.#deaf) {
      this.#deaf = false
      this.#socket.resume()
    }
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
