/**
 * A server's end of the connection to one supervisor (supervisor/protocol.ts): sends hello and requests, receives events.
 * Every call has a time limit.
 */
import net from 'node:net'
import { createInterface } from 'node:readline'
import type { Progress } from '../../../domain/protocol/protocol.ts'
import { withHardTimeout } from '../../../platform/async/time-limit.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { Answer, Hello, Request, State, SupervisorEvent, Welcome } from '../supervisor/protocol.ts'

/** A request without what the connection adds to it. */
export type RequestBody = Request extends infer R ? (R extends Request ? Omit<R, 'id' | 'token'> : never) : never

/** The supervisor obeys a newer token than ours. */
export class StaleToken extends Error {
  readonly newest: string

  constructor(newest: string) {
    super('A newer claim exists, so the supervisor of this deployment refuses this server')
    this.newest = newest
  }
}

/** No process listens on the socket, the connection is broken, or the supervisor does not answer. */
export class SupervisorUnavailable extends Error {}

/** A process listens on the socket but does not answer. */
export class SupervisorSilent extends SupervisorUnavailable {}

/** The candidate does not exist (any more). */
export class CandidateGone extends Error {}

const HELLO_TIMEOUT_MS = 10_000
const ANSWER_TIMEOUT_MS = 15_000

export interface ConnectionEvents {
  /** the output files have new lines */
  onOutput?: () => void
  /** `state` has changed */
  onState?: () => void
  /** the supervisor refuses all further requests of this connection */
  onStale?: () => void
}

export interface RequestOptions {
  /** time limit; after it the supervisor counts as hanging */
  ms?: number
  /** called with the progress of a `prepare` */
  onProgress?: (progress: Progress | null) => void
}

interface PendingRequest {
  resolve: (answer: Answer) => void
  reject: (error: Error) => void
  onProgress?: (progress: Progress | null) => void
}

export type Greeting = Extract<Welcome, { ok: true }>

export class Connection {
  readonly welcome: Greeting
  /** resolves when it is broken */
  readonly closed: Promise<void>
  /** as last received */
  state: State
  readonly #socket: net.Socket
  readonly #token: string
  readonly #pending = new Map<number, PendingRequest>()
  #lastId = 0

  private constructor(socket: net.Socket, token: string, welcome: Greeting) {
    this.#socket = socket
    this.#token = token
    this.welcome = welcome
    this.state = welcome.state
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()))
    void this.closed.then(() => {
      for (const { reject } of this.#pending.values()) reject(new SupervisorUnavailable('The supervisor has gone'))
      this.#pending.clear()
    })
  }

  /** Throws SupervisorUnavailable; StaleToken; and an Error when the supervisor does not take us for its server. */
  static async open(
    socketPath: string,
    hello: Omit<Hello, 'verb'>,
    events: ConnectionEvents = {},
  ): Promise<Connection> {
    const socket = net.connect(socketPath)
    // lines that arrive in the same chunk as the welcome
    const early: string[] = []
    let onLine = (line: string): void => {
      early.push(line)
    }
    const greeted = new Promise<string>((resolve, reject) => {
      const away = (cause?: Error) => reject(new SupervisorUnavailable('No supervisor listens there', { cause }))
      socket.on('error', away)
      socket.once('close', () => away())
      const lines = createInterface({ input: socket })
      lines.on('error', away)
      lines.once('line', (first) => {
        resolve(first)
        lines.on('line', (line) => onLine(line))
      })
    })
    try {
      send(socket, { verb: 'hello', ...hello })
      const silent = () => new SupervisorSilent('The supervisor of this deployment does not answer')
      const welcome = parseWelcome(await withHardTimeout(HELLO_TIMEOUT_MS, undefined, silent, () => greeted), hello)
      const connection = new Connection(socket, hello.token, welcome)
      onLine = (line) => connection.#onMessage(JSON.parse(line) as Answer | SupervisorEvent, events)
      for (const line of early) onLine(line)
      return connection
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  /** Resolves when it is done. Throws SupervisorUnavailable, StaleToken, CandidateGone, and StepFailure for people. */
  async request(body: RequestBody, { ms = ANSWER_TIMEOUT_MS, onProgress }: RequestOptions = {}): Promise<void> {
    const id = ++this.#lastId
    const silent = () => new SupervisorSilent(`The supervisor of this deployment does not answer (${body.verb})`)
    const call = () =>
      new Promise<Answer>((resolve, reject) => {
        if (this.#socket.destroyed) return reject(new SupervisorUnavailable('The supervisor has gone'))
        this.#pending.set(id, { resolve, reject, ...(onProgress && { onProgress }) })
        send(this.#socket, { ...body, id, token: this.#token } as Request)
      })
    const answer = await withHardTimeout(ms, undefined, silent, call).finally(() => this.#pending.delete(id))
    if (answer.ok) return
    if (answer.refused === 'stale') throw new StaleToken(answer.newest ?? this.#token)
    if (answer.refused === 'gone') throw new CandidateGone(answer.message ?? 'The candidate is gone')
    throw new StepFailure(answer.reason ?? 'INTERNAL', answer.message ?? 'The supervisor gave no reason', {
      artifactLost: answer.artifactLost ?? false,
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #onMessage(message: Answer | SupervisorEvent, { onOutput, onState, onStale }: ConnectionEvents): void {
    if (!('say' in message)) {
      this.#pending.get(message.id)?.resolve(message)
      return
    }
    switch (message.say) {
      case 'progress':
        this.#pending.get(message.id)?.onProgress?.(message.progress)
        break
      case 'output':
        onOutput?.()
        break
      case 'stale':
        onStale?.()
        break
      case 'state':
        this.state = message.state
        onState?.()
    }
  }
}

function parseWelcome(text: string, hello: Omit<Hello, 'verb'>): Greeting {
  const welcome = JSON.parse(text) as Welcome
  if (welcome.ok) return welcome
  if (welcome.refused === 'stale') throw new StaleToken(welcome.newest ?? hello.token)
  throw new Error(
    welcome.refused === 'installation'
      ? 'Another installation has used this DATA_DIR, so the supervisor of this deployment refuses this server. Give each installation its own DATA_DIR.'
      : 'The secret in DATA_DIR/run was replaced, so the supervisor of this deployment refuses this server. Restore the old secret.',
  )
}

function send(socket: net.Socket, message: Hello | Request): void {
  socket.write(`${JSON.stringify(message)}\n`)
}
