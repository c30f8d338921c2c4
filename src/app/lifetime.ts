/**
 * Ends the process on SIGTERM, SIGINT or SIGHUP (closed terminal): closes the app within EXIT_TIMEOUT_MS. Another
 * signal exits immediately. SIGINT and SIGHUP also end agents; SIGTERM does not, since a service manager may start the next
 * server.
 */
import type { Log } from '../platform/log/log.ts'
import { exitMessage } from './exit-message.ts'

/** from the first signal to the end, even if connections are open */
const EXIT_TIMEOUT_MS = 10_000
/** another signal in this time counts as the same one */
const REPEATED_SIGNAL_MS = 1_000

/** Text for people goes to stderr, so stdout has only JSON lines for a log shipper. */
export const say = (text: string) => process.stderr.write(text)

export interface Closable {
  /** `ending`: omitted when the reason does not matter */
  close(ending?: { agents: boolean }): Promise<void>
}

export class Lifetime {
  #opened: { what: Closable; log: Log } | null = null
  readonly #end = new AbortController()
  #signalled = 0
  #exitCode = 0
  #atTerminal = false

  constructor() {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => this.#onSignal(signal))
    process.on('uncaughtException', (error) => this.#onBug(error))
  }

  /** True once the end has begun. Code that is still starting then calls `leave` when its app is open. */
  get ending(): boolean {
    return this.signal.aborted
  }

  /** Aborts when the end begins. */
  get signal(): AbortSignal {
    return this.#end.signal
  }

  /** Registers the app to close before the end. */
  opened(what: Closable, log: Log): void {
    this.#opened = { what, log }
  }

  /** Ends the process for an internal reason. Returns false if it was already ending. */
  end(exitCode: number): boolean {
    if (this.ending) return false
    this.#end.abort()
    this.#exitCode = exitCode
    if (this.#opened) void this.leave()
    return true
  }

  /** Closes the app and exits, after EXIT_TIMEOUT_MS at the latest. */
  async leave(exitCode = this.#exitCode): Promise<never> {
    this.#end.abort()
    setTimeout(() => process.exit(1), EXIT_TIMEOUT_MS)
    let code = exitCode
    try {
      await this.#opened?.what.close(this.#atTerminal ? { agents: true } : undefined)
    } catch (error) {
      say(`${exitMessage(error)}\n`)
      code = 1
    }
    process.exit(code)
  }

  #onSignal(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP'): void {
    // one Ctrl-C arrives twice: from the terminal and forwarded by npm
    if (this.ending && performance.now() - this.#signalled < REPEATED_SIGNAL_MS) return
    if (this.ending) process.exit(1)
    this.#signalled = performance.now()
    this.#atTerminal = signal !== 'SIGTERM'
    this.end(0)
    // a starting process leaves once it has started, which may take longer
    if (!this.#opened) setTimeout(() => process.exit(1), EXIT_TIMEOUT_MS)
  }

  /** After a bug no state is reliable, but leases can still be released, so other servers continue immediately. */
  #onBug(error: Error): void {
    if (this.ending || !this.#opened) {
      say(`${exitMessage(error)}\n`)
      process.exit(1)
    }
    this.#opened.log.error({ err: error }, 'an unexpected error ends this process')
    this.end(1)
  }
}
