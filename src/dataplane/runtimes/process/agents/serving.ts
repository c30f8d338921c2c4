/**
 * What serves one deployment here: its proxy and the supervised agent behind it, and the hand-over from one
 * agent to the next.
 */
import type { Health } from '../../../../domain/protocol/protocol.ts'
import { sleep } from '../../../../platform/async/retry.ts'
import { within } from '../../../../platform/async/time-limit.ts'
import { StepFailure } from '../../../output/failure.ts'
import type { OnProgress } from '../../runtime.ts'
import type { Reaper } from '../os/reaper.ts'
import { AppProxy } from './proxy.ts'
import { type Supervised, Supervisor } from './supervisor.ts'

/** an agent that was replaced has this long for the requests it has in hand */
const DRAIN_MS = 30_000
/** how long a deploy waits for a port that another program has */
const BIND_MS = 30_000

/** so often it is tried before it is reported who has the port */
const TRIES_UNREPORTED = 10

export interface Address {
  port: number
  bindAddress: string
  /** the server of this DATA_DIR that listens there instead of this one; null: another program */
  owner: () => number | null
}

export class Serving {
  readonly #reaper: Reaper
  readonly #address: () => Promise<Address>
  readonly #closing = new AbortController()
  readonly #retired = new Map<Supervisor, Promise<void>>()
  readonly #proxy = new AppProxy()
  #opening: Promise<number> | null = null
  #current: Supervisor | null = null
  #problem: string | null = null

  /** `address` reserves the deployment's port, or finds the one it has. */
  constructor(reaper: Reaper, address: () => Promise<Address>) {
    this.#reaper = reaper
    this.#address = address
  }

  /** What must not be removed while it is here. */
  get artifacts(): string[] {
    return [...this.#retired.keys(), this.#current].flatMap((supervisor) => supervisor?.of.artifact ?? [])
  }

  get health(): Health | undefined {
    if (!this.#current) return undefined
    const { health } = this.#current
    return this.#problem ? { ...health, ready: 0, reason: 'PORT_IN_USE', message: this.#problem } : health
  }

  /** Takes the stable address; returns its port. Throws StepFailure when another program has it and keeps it. */
  async open(signal: AbortSignal): Promise<number> {
    signal.throwIfAborted()
    const port = await within(BIND_MS, this.#keepOpening(), signal)
    signal.throwIfAborted()
    if (port === undefined)
      throw new StepFailure('PORT_IN_USE', this.#problem ?? 'The address of this deployment could not be opened.')
    return port
  }

  /** A new agent that is ready but serves nobody yet. */
  async prepare(of: Supervised, signal: AbortSignal, onProgress: OnProgress): Promise<Supervisor> {
    const candidate = new Supervisor(this.#reaper, of)
    await candidate.first(signal, onProgress)
    return candidate
  }

  /** Switches to the candidate if `record` says so. Until it has, no new request reaches either. */
  async handOver(candidate: Supervisor, record: () => Promise<boolean>): Promise<void> {
    const resume = this.#proxy.pause()
    let recorded = false
    try {
      recorded = await record()
    } finally {
      const serves = recorded && !this.#closing.signal.aborted
      if (serves) this.#serve(candidate)
      resume()
      if (!serves) await candidate.end()
    }
  }

  /** Makes this what serves, unless it already does; null: nothing. */
  keep(wanted: Supervised | null): void {
    if (wanted) void this.#keepOpening().catch(() => undefined)
    if (this.#current?.of.revisionId === wanted?.revisionId) return
    const next = wanted && new Supervisor(this.#reaper, wanted)
    this.#serve(next)
    next?.keep()
  }

  /** Ends everything; requests in flight have `drainMs`. */
  async close(drainMs: number): Promise<void> {
    this.#closing.abort()
    await this.#proxy.close(drainMs)
    const current = this.#current
    this.#current = null
    await Promise.all([current?.end(drainMs > 0 ? 2000 : 1000), ...this.#retired.values()])
  }

  #serve(next: Supervisor | null): void {
    const previous = this.#current
    this.#current = next
    this.#proxy.point(next?.upstream ?? null)
    if (next) next.onUpstream = (upstream) => this.#current === next && this.#proxy.point(upstream)
    if (previous) this.#retire(previous, DRAIN_MS)
  }

  /** Ends an agent once its requests in flight are answered. */
  #retire(supervisor: Supervisor, drainMs: number): void {
    const { signal } = this.#closing
    supervisor.release()
    const over = (async () => {
      await supervisor.upstream?.idle(drainMs, signal)
      await supervisor.end(signal.aborted ? 1000 : undefined)
    })()
    this.#retired.set(supervisor, over)
    void over.finally(() => this.#retired.delete(supervisor))
  }

  /** Tries for as long as it takes: a dying server, or another program, may still have the port. */
  #keepOpening(): Promise<number> {
    this.#opening ??= (async () => {
      const { port, bindAddress, owner } = await this.#address()
      const { signal } = this.#closing
      for (let tries = 0; ; tries++) {
        signal.throwIfAborted()
        try {
          await this.#proxy.listen(port, bindAddress)
          this.#problem = null
          return port
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
        }
        // a moment of it is nothing to report
        if (tries % TRIES_UNREPORTED === TRIES_UNREPORTED - 1) this.#report(inUse(port, owner()))
        await sleep(200, signal)
      }
    })().catch((error: Error) => {
      this.#opening = null
      this.#report(error.message)
      throw error
    })
    return this.#opening
  }

  /** Why nobody can reach it: in the health, and once in the deploy log of what serves. */
  #report(problem: string): void {
    if (this.#closing.signal.aborted || this.#problem === problem) return
    this.#problem = problem
    this.#current?.of.note(problem)
  }
}

function inUse(port: number, server: number | null): string {
  return server === null
    ? `Port ${port}, the address of this deployment, is used by another program: stop that.`
    : `Port ${port}, the address of this deployment, is held by pid ${server}, a server of this DATA_DIR that does not answer: end it.`
}
