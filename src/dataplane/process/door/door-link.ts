/**
 * The keeper's link to the door: tells it the state of one deployment's address. Starts a door when none runs, and follows when
 * another door takes over.
 */
import { backoff, sleep } from '../../../platform/async/retry.ts'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import { connectToDoor, type DoorConnection } from './door-connection.ts'
import type { AddressState, DoorProgram, FromDoor, HealthAnswer } from './messages.ts'
import { startDoor } from './start-door.ts'

/** longest wait for a door to apply a state; a new connection gets the state first */
const APPLIED_MS = 10_000
/** longest time that a door takes to close an address */
const CLOSE_MS = 2000

export interface DoorLinkOptions {
  deployment: string
  program: DoorProgram
  /** Called when the address was opened, and when that failed. `problem`: an error code; null: it is open. */
  onListening(port: number, problem: string | null): void
  onServed(): void
  onLost(): void
}

export class DoorLink {
  /** the program of the next start; the file of the first may have been removed by an upgrade */
  program: DoorProgram
  readonly #options: DoorLinkOptions
  readonly #closing = new AbortController()
  #current: DoorConnection | null = null
  /** connections to doors that were replaced and complete what is open */
  readonly #replaced = new Set<DoorConnection>()
  #state: AddressState = { address: null, upstream: null, held: false, ending: [] }

  constructor(options: DoorLinkOptions) {
    this.#options = options
    this.program = options.program
    void this.#connectLoop()
  }

  /** Resolves when all doors have applied the changes. A door that starts later gets the whole state first. */
  async setState(changes: Partial<AddressState>): Promise<void> {
    this.#state = { ...this.#state, ...changes }
    await resultWithin(APPLIED_MS, this.#requestAll({ do: 'apply', state: this.#state }))
  }

  /** The status of a GET of `path` on that port of the loopback. */
  async requestHealth(port: number, path: string): Promise<HealthAnswer> {
    const answer = await this.#current?.request({ do: 'health', port, path })
    return answer?.health ?? { host: '127.0.0.1', status: null }
  }

  /** Resolves when nothing is in flight to that upstream. */
  async idle(upstream: string): Promise<void> {
    await this.#requestAll({ do: 'idle', upstream })
  }

  /** Stops new connections. No door is started any more. */
  leave(): void {
    this.#closing.abort()
    void this.setState({ address: null })
  }

  /** Ends requests in flight. */
  async close(): Promise<void> {
    this.leave()
    await resultWithin(CLOSE_MS, this.#requestAll({ do: 'close' }))
    for (const connection of this.#all) connection.close()
  }

  get #all(): DoorConnection[] {
    return [...(this.#current ? [this.#current] : []), ...this.#replaced]
  }

  async #requestAll(request: Parameters<DoorConnection['request']>[0]): Promise<void> {
    await Promise.all(this.#all.map((connection) => connection.request(request)))
  }

  async #connectLoop(): Promise<void> {
    const { signal } = this.#closing
    for (let tries = 0; !signal.aborted; tries++) {
      const connection = await this.#connect()
      if (connection) {
        tries = -1
        await connection.ended
        if (!connection.wasReplaced() && !signal.aborted) this.#options.onLost()
        continue
      }
      if (signal.aborted) return
      this.#startDoor()
      await sleep(backoff(tries, 20, 500) * (0.5 + Math.random()), signal)
    }
  }

  #startDoor(): void {
    try {
      startDoor(this.program)
    } catch {
      // the folder is gone, or no file descriptor is free: the loop tries again
    }
  }

  /** `ended` resolves when the connection is broken, or when another door has taken over. */
  async #connect(): Promise<{ ended: Promise<void>; wasReplaced(): boolean } | null> {
    let replace: () => void = () => undefined
    const replaced = new Promise<void>((resolve) => {
      replace = resolve
    })
    let isReplaced = false
    const { deployment, onListening, onServed } = this.#options
    const onEvent = (event: Exclude<FromDoor, { say: 'answer' }>) => {
      if (event.say === 'served') onServed()
      else if (event.say === 'listening') onListening(event.port, event.problem)
      else {
        isReplaced = true
        replace()
      }
    }
    const connection = await connectToDoor(this.program.folder, onEvent)
    if (!connection) return null
    void connection.request({ do: 'hello', deployment })
    this.#current = connection
    void connection.request({ do: 'apply', state: this.#state })
    void connection.closed.then(() => this.#replaced.delete(connection))
    const ended = Promise.race([connection.closed, replaced]).then(() => {
      if (isReplaced) this.#replaced.add(connection)
      if (this.#current === connection) this.#current = null
    })
    return { ended, wasReplaced: () => isReplaced }
  }
}
