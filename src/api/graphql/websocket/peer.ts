/**
 * The client of a WebSocket: sends messages, detects dead clients by unanswered pings, pauses reading from slow ones, and
 * closes connections that send too many messages.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { UnauthenticatedError } from '../../../domain/errors/errors.ts'

/** Above this, streams send nothing more. */
const MAX_BUFFERED_BYTES = 65_536
/** Above this, nothing more is read from the client. */
const PAUSE_READING_BYTES = 1024 * 1024
/** The documentation promises 15 s (docs/api-rules.md); the rest is slack for a busy event loop. */
const PING_INTERVAL_MS = 10_000
/** Two, because a busy event loop may not have read the last answer yet. */
const MAX_UNANSWERED_PINGS = 2
/** Messages between two pings. Operations are exempt, because they count as requests. */
const MAX_MESSAGES_PER_INTERVAL = 2_000
/** Time for the client to answer a close. */
const CLOSE_TIMEOUT_MS = 3_000
/** RFC 6455, 5.5. */
const MAX_REASON_BYTES = 123

export class Peer {
  readonly #socket: WebSocket
  readonly #transport: Socket
  #unansweredPings = 0
  #messages = 0
  #isPaused = false
  #closing = false
  #waiting: (() => void)[] = []

  /** `transport`: the socket below the WebSocket. */
  constructor(socket: WebSocket, transport: Socket) {
    this.#socket = socket
    this.#transport = transport
    socket.on('pong', () => {
      this.#unansweredPings = 0
    })
    transport.on('drain', () => this.#handleDrain())
    transport.once('close', () => this.#handleDrain())
    const timer = setInterval(() => this.#pingOrTerminate(), PING_INTERVAL_MS)
    socket.once('close', () => clearInterval(timer))
    // the close event follows; the error itself does not matter
    socket.on('error', () => {})
  }

  /** Counts a message. False: the connection is closing. */
  countMessage(): boolean {
    this.#unansweredPings = 0
    if (++this.#messages > MAX_MESSAGES_PER_INTERVAL) this.close(1008, 'Too many messages.')
    return !this.#closing
  }

  /** The last message was an operation, which counts as a request instead. */
  discountOperation(): void {
    this.#messages--
  }

  /** Sends several texts in one write. */
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

  /** Resolves when the buffer drains or the client is gone. */
  async drained(): Promise<void> {
    if (this.full) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #pingOrTerminate(): void {
    this.#messages = 0
    if (this.#unansweredPings >= MAX_UNANSWERED_PINGS) this.#socket.terminate()
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping()
    this.#unansweredPings++
  }

  /** `reason`: for people, truncated to the maximum length. */
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

/** Headers with a credential; `x-tenant-id` only selects the workspace. */
const CREDENTIAL_HEADERS = ['x-api-key', 'authorization', 'x-session'] as const
const PAYLOAD_NAMES = [...CREDENTIAL_HEADERS, 'x-tenant-id'] as const
/**
 * Headers that only browsers set. `Sec-Fetch-Site` is missing: Chromium does not send it with an upgrade, so `Origin`
 * identifies the page.
 */
const BROWSER_HEADERS = ['cookie', 'origin', 'host'] as const

/** Characters that a header value may have. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Reads the credential of a WebSocket from the payload of `connection_init`, under the headers' names in any case, because
 * browsers can't send headers. Missing values come from the upgrade's headers. The cookie half of a session and the page's
 * origin come only from the headers.
 */
export type CredentialHeaders = { [N in (typeof PAYLOAD_NAMES)[number] | (typeof BROWSER_HEADERS)[number]]?: string }

/** Throws UnauthenticatedError for an invalid value or a repeated name. */
export function credentialsOf(payload: Record<string, unknown>, headers: IncomingHttpHeaders): CredentialHeaders {
  const found: CredentialHeaders = {}
  for (const [key, value] of Object.entries(payload)) {
    const name = PAYLOAD_NAMES.find((one) => one === key.toLowerCase())
    if (!name || value === null || value === undefined) continue
    if (typeof value !== 'string' || !HEADER_VALUE.test(value) || found[name] !== undefined)
      throw new UnauthenticatedError(`${key} in the payload of connection_init must be one string.`)
    found[name] = value
  }
  const shown = CREDENTIAL_HEADERS.some((name) => found[name] !== undefined)
  for (const name of [...PAYLOAD_NAMES, ...BROWSER_HEADERS]) {
    const value = headers[name]
    // a credential in the payload excludes credentials in the headers
    const isOther = shown && (CREDENTIAL_HEADERS as readonly string[]).includes(name)
    if (found[name] === undefined && typeof value === 'string' && !isOther) found[name] = value
  }
  return found
}
