/**
 * How a process of ours ends: on SIGTERM, SIGINT or SIGHUP (its terminal was closed) it closes what it has opened,
 * a second signal ends it at once, and nothing takes longer than LIMIT. Who ends it at a terminal means all of it; a
 * service manager that stops it may be about to start the next one.
 */
import type { Log } from '../platform/log/log.ts'
import { exitMessage } from './exit-message.ts'

/** ms from the first signal to the end, whatever is still open. */
const EXIT_TIMEOUT_MS = 10_000
/** ms in which another signal counts as the same one */
const REPEATED_SIGNAL_MS = 1_000

/** People's text goes to stderr, so that stdout stays what a log shipper reads: JSON lines. */
export const say = (text: string) => process.stderr.write(text)

export interface Closable {
  /** `ending`: none when it does not matter who ends it */
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

  /** Its end has begun. Whoever is still starting then calls `leave` as soon as it has opened what it was about to. */
  get ending(): boolean {
    return this.signal.aborted
  }

  /** Aborts when its end begins. */
  get signal(): AbortSignal {
    return this.#end.signal
  }

  /** This is to be closed before the end. */
  opened(what: Closable, log: Log): void {
    this.#opened = { what, log }
  }

  /** Ends the process for a reason of its own. False: it was ending already. */
  end(exitCode: number): boolean {
    if (this.ending) return false
    this.#end.abort()
    this.#exitCode = exitCode
    if (this.#opened) void this.leave()
    return true
  }

  /** Closes and ends, in LIMIT at the latest. */
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
    // one Ctrl-C arrives twice: from the terminal, and handed on by npm
    if (this.ending && performance.now() - this.#signalled < REPEATED_SIGNAL_MS) return
    if (this.ending) process.exit(1)
    this.#signalled = performance.now()
    this.#atTerminal = signal !== 'SIGTERM'
    this.end(0)
    // it leaves by itself as soon as it is there, which may take its time
    if (!this.#opened) setTimeout(() => process.exit(1), EXIT_TIMEOUT_MS)
  }

  /** Nothing can be relied on any more, but leases can still be given back, so that others go on at once. */
  #onBug(error: Error): void {
    if (this.ending || !this.#opened) {
      say(`${exitMessage(error)}\n`)
      process.exit(1)
    }
    this.#opened.log.error({ err: error }, 'an unexpected error ends this process')
    this.end(1)
  }
}
