/** One connection of a server to the control socket: its authentication, its requests and the events it gets. */
import { timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import {
  type Answer,
  type Hello,
  PROTOCOL,
  type Request,
  type State,
  type SupervisorEvent,
  type Welcome,
} from '../protocol.ts'
import type { Fence } from './fence.ts'

/** A hello is short; a plan has all secrets of a revision. */
const MAX_LINE_BYTES = { unknown: 8192, known: 32_000_000 }
/** A connection without a valid hello is closed after this time. */
const HELLO_TIMEOUT_MS = 10_000
const MAX_PENDING_REQUESTS = 64
/** A connection that leaves more than this unread counts as dead. */
const MAX_UNREAD_BYTES = 1_000_000

export type Outcome = { ok: true } | Omit<Extract<Answer, { ok: false }>, 'id'>

export interface ConnectionOptions {
  installation: string
  deploymentId: string
  secret: string
  build: string
  fence: Fence
  state(): State
  perform(request: Request, connection: Connection): Promise<Outcome>
  /** Called after a valid hello, and after a token newer than all before. */
  onToken(connection: Connection): void
}

const NEWLINE = 10

/** Splits the bytes of a connection into lines of limited length. */
class LineSplitter {
  #parts: Buffer[] = []
  #length = 0

  /** Returns the complete lines; null: a line is longer than `maxBytes`. */
  push(chunk: Buffer, maxBytes: number): string[] | null {
    const lines: string[] = []
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#parts.push(chunk.subarray(from, at))
      if (this.#length + at - from > maxBytes) return null
      lines.push(Buffer.concat(this.#parts).toString())
      this.#parts = []
      this.#length = 0
      from = at + 1
    }
    this.#parts.push(chunk.subarray(from))
    this.#length += chunk.length - from
    return this.#length > maxBytes ? null : lines
  }
}

export class Connection {
  readonly socket: Socket
  readonly #options: ConnectionOptions
  readonly #lines = new LineSplitter()
  readonly #late: NodeJS.Timeout
  /** the newest token that this connection sent; null: no valid hello yet */
  #token: string | null = null
  #requests = 0
  #lastState = ''

  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket
    this.#options = options
    this.#late = setTimeout(() => socket.destroy(), HELLO_TIMEOUT_MS)
    socket.on('error', () => undefined)
    socket.once('close', () => clearTimeout(this.#late))
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
    socket.on('drain', () => this.sendState())
  }

  get known(): boolean {
    return this.#token !== null
  }

  /** Whether its token is the newest one. */
  get obeyed(): boolean {
    return this.#token === this.#options.fence.newest
  }

  send(message: SupervisorEvent): void {
    if (this.known) this.#write(message)
  }

  /** Sends the state if it has changed. While the socket is full it waits for `drain`. */
  sendState(): void {
    if (!this.known || this.socket.writableLength > 0) return
    const state = JSON.stringify({ say: 'state', state: this.#options.state() } satisfies SupervisorEvent)
    if (state === this.#lastState) return
    this.#lastState = state
    this.#writeLine(state)
  }

  #onData(chunk: Buffer): void {
    const lines = this.#lines.push(chunk, this.known ? MAX_LINE_BYTES.known : MAX_LINE_BYTES.unknown)
    if (!lines) return void this.socket.destroy()
    for (const line of lines) {
      if (this.socket.destroyed) return
      try {
        this.#onMessage(JSON.parse(line) as Hello | Request)
      } catch {
        this.socket.destroy()
      }
    }
  }

  /** Throws on an invalid message. */
  #onMessage(message: Hello | Request): void {
    if (message.verb === 'hello') {
      this.#hello(message)
      return
    }
    if (!this.known || !Number.isSafeInteger(message.id) || this.#requests >= MAX_PENDING_REQUESTS)
      throw new Error('Unexpected')
    const { id } = message
    if (!this.#admits(message.token)) {
      this.#write({ id, ok: false, refused: 'stale', newest: this.#options.fence.newest })
      return
    }
    this.#requests++
    void this.#options.perform(message, this).then((outcome) => {
      this.#requests--
      // the state comes first, so that the client knows it when it gets the answer
      this.sendState()
      this.#write({ id, ...outcome })
    })
  }

  #hello(hello: Hello): void {
    const refused = this.#refusal(hello)
    if (refused) {
      this.#write({ ok: false, refused } satisfies Welcome)
      return void this.socket.end()
    }
    if (!this.#admits(hello.token)) {
      const { newest } = this.#options.fence
      this.#write({ ok: false, refused: 'stale', newest } satisfies Welcome)
      return
    }
    clearTimeout(this.#late)
    const { build, state } = this.#options
    const protocol = Math.min(PROTOCOL, hello.protocol)
    this.#write({ ok: true, protocol, build, pid: process.pid, state: state() } satisfies Welcome)
  }

  #refusal({ secret, installation, deploymentId }: Hello): 'secret' | 'installation' | null {
    const [given, expected] = [Buffer.from(String(secret)), Buffer.from(this.#options.secret)]
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'secret'
    const same = installation === this.#options.installation && deploymentId === this.#options.deploymentId
    return same ? null : 'installation'
  }

  /** False: the token is stale. Throws on an invalid token. */
  #admits(token: string): boolean {
    const is = this.#options.fence.admit(token)
    if (is === 'stale') return false
    const first = !this.known
    this.#token = this.#options.fence.newest
    if (first || is === 'newer') this.#options.onToken(this)
    return true
  }

  #write(message: Welcome | Answer | SupervisorEvent): void {
    this.#writeLine(JSON.stringify(message))
  }

  #writeLine(line: string): void {
    if (this.socket.writableLength > MAX_UNREAD_BYTES) this.socket.destroy()
    if (this.socket.writable) this.socket.write(`${line}\n`)
  }
}
