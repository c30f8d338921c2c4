/** The control socket of a supervisor: authenticates servers, passes their requests on and sends them events. */
import { timingSafeEqual } from 'node:crypto'
import fs from 'node:fs'
import { createServer, type Socket } from 'node:net'
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

/** A hello is short, and a server waits for its answer. A plan has all secrets of a revision. */
const MAX_LINE_LENGTH = { unknown: 8192, known: 32_000_000 }
/** `known`: after a valid hello; `unknown`: before it. Above the limit, the oldest is closed. */
const MAX_CONNECTIONS = { known: 8, unknown: 16 }
/** A connection without a valid hello is closed after this time. */
const HELLO_TIMEOUT_MS = 10_000
const MAX_PENDING_REQUESTS = 64
/** A connection that leaves more than this unread counts as dead. */
const MAX_UNREAD_BYTES = 1_000_000

export type Outcome = { ok: true } | Omit<Extract<Answer, { ok: false }>, 'id'>

export interface Control {
  /** Sends an event to all connections. */
  send(event: SupervisorEvent): void
  /** Sends the state to all connections that have not got it. */
  sendState(): void
  /** Accepts no new connections and sends pending answers. */
  close(): Promise<void>
}

export interface ControlOptions {
  socket: string
  installation: string
  deploymentId: string
  secret: string
  build: string
  fence: Fence
  state(): State
  /** `send`: sends an event to the server that sent the request. */
  perform(request: Request, send: (event: SupervisorEvent) => void): Promise<Outcome>
  /** Called when the first server with the newest token connects, and when the last one leaves. */
  onServer(connected: boolean): void
}

/** Replaces an old socket file. Safe, because the caller holds the lock. */
export async function openControl(options: ControlOptions): Promise<Control> {
  const { fence } = options
  const connections = new Set<Connection>()
  let connected = false

  function look(): void {
    const now = [...connections].some(({ token }) => token === fence.newest)
    if (now !== connected) options.onServer(now)
    connected = now
  }

  function limit(known: boolean, max: number): void {
    const matching = [...connections].filter(({ token }) => (token !== null) === known)
    for (const { socket } of matching.slice(0, -max)) socket.destroy()
  }

  function onToken(): void {
    limit(true, MAX_CONNECTIONS.known)
    const { newest } = fence
    for (const connection of connections) if (connection.token !== newest) connection.send({ say: 'stale', newest })
    look()
  }

  const server = createServer((socket) => {
    const connection = new Connection(socket, options, onToken)
    connections.add(connection)
    socket.once('close', () => {
      connections.delete(connection)
      look()
    })
    limit(false, MAX_CONNECTIONS.unknown)
  })
  fs.rmSync(options.socket, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.socket, resolve)
  })
  // accept fails while no file descriptor is free; only that connection is lost
  server.on('error', () => undefined)
  fs.chmodSync(options.socket, 0o600)
  return {
    send(event) {
      for (const connection of connections) connection.send(event)
    },
    sendState() {
      for (const connection of connections) connection.sendState()
    },
    close: () =>
      new Promise((resolve) => {
        // also removes the socket file
        server.close(() => resolve())
        for (const { socket } of connections) socket.end(() => socket.destroy())
      }),
  }
}

class Connection {
  readonly socket: Socket
  /** the newest token that this connection sent; null: no valid hello yet */
  token: string | null = null
  readonly #options: ControlOptions
  /** Called after a valid hello, and after a token newer than all before. */
  readonly #onToken: () => void
  readonly #late: NodeJS.Timeout
  /** the incomplete last line */
  #text = ''
  #requests = 0
  #lastState = ''

  constructor(socket: Socket, options: ControlOptions, onToken: () => void) {
    this.socket = socket
    this.#options = options
    this.#onToken = onToken
    this.#late = setTimeout(() => socket.destroy(), HELLO_TIMEOUT_MS)
    socket.on('error', () => undefined)
    socket.once('close', () => clearTimeout(this.#late))
    socket.setEncoding('utf8').on('data', (text) => this.#onData(String(text)))
    socket.on('drain', () => this.sendState())
  }

  send(message: SupervisorEvent): void {
    if (this.token !== null) this.#write(message)
  }

  /** Sends the state if it has changed. While the socket is full it waits for `drain`. */
  sendState(): void {
    if (this.token === null || this.socket.writableLength > 0) return
    const state = this.#options.state()
    const text = JSON.stringify(state)
    if (text === this.#lastState) return
    this.#lastState = text
    this.#write({ say: 'state', state })
  }

  #onData(text: string): void {
    this.#text += text
    if (this.#text.length > MAX_LINE_LENGTH[this.token === null ? 'unknown' : 'known']) this.socket.destroy()
    // joins the parts of a long line once
    if (!text.includes('\n')) return
    const lines = this.#text.split('\n')
    this.#text = lines.pop()!
    try {
      for (const line of lines) if (!this.socket.destroyed) this.#onMessage(JSON.parse(line) as Hello | Request)
    } catch {
      this.socket.destroy()
    }
  }

  /** Throws on an invalid message. */
  #onMessage(message: Hello | Request): void {
    const { fence, perform } = this.#options
    if (message.verb === 'hello') return void this.#hello(message)
    if (this.token === null || !Number.isSafeInteger(message.id) || this.#requests >= MAX_PENDING_REQUESTS)
      throw new Error('Unexpected')
    const { id } = message
    if (!this.#admits(message.token)) return void this.#write({ id, ok: false, refused: 'stale', newest: fence.newest })
    this.#requests++
    void perform(message, (event) => this.send(event)).then((outcome) => {
      this.#requests--
      // the state comes first, so that the client knows it when it gets the answer
      this.sendState()
      this.#write({ id, ...outcome })
    })
  }

  #hello(hello: Hello): void {
    const { build, state, fence } = this.#options
    const refused = this.#refusal(hello)
    if (refused) {
      this.#write({ ok: false, refused })
      this.socket.end()
    } else if (!this.#admits(hello.token)) this.#write({ ok: false, refused: 'stale', newest: fence.newest })
    else {
      clearTimeout(this.#late)
      const protocol = Math.min(PROTOCOL, hello.protocol)
      this.#write({ ok: true, protocol, build, pid: process.pid, state: state() })
    }
  }

  #refusal({ secret, installation, deploymentId }: Hello): 'secret' | 'installation' | null {
    const [given, expected] = [Buffer.from(String(secret)), Buffer.from(this.#options.secret)]
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'secret'
    const same = installation === this.#options.installation && deploymentId === this.#options.deploymentId
    return same ? null : 'installation'
  }

  /** False: the token is stale. Throws on an invalid token. */
  #admits(token: string): boolean {
    const { fence } = this.#options
    const is = fence.admit(token)
    if (is === 'stale') return false
    const first = this.token === null
    this.token = fence.newest
    if (first || is === 'newer') this.#onToken()
    return true
  }

  #write(message: Welcome | Answer | SupervisorEvent): void {
    if (this.socket.writableLength > MAX_UNREAD_BYTES) this.socket.destroy()
    if (this.socket.writable) this.socket.write(`${JSON.stringify(message)}\n`)
  }
}
