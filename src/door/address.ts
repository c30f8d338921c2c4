/** The address of one deployment: applies the state that its keeper sends. */
import type { AddressState, Place, Sleeper } from '../dataplane/process/door/messages.ts'
import type { AgentFigures } from '../domain/values/door-figures.ts'
import type { Listener, Tenant } from './listener.ts'
import type { Listeners } from './listeners.ts'
import { AppProxy } from './proxy.ts'
import { Sleep } from './sleepers.ts'

const SERVED_INTERVAL_MS = 60_000

export class Address {
  onListening: (port: number, problem: string | null) => void = () => undefined
  onServed: () => void = () => undefined
  onAwake: () => void = () => undefined
  readonly #listeners: Listeners
  readonly #deployment: string
  readonly #proxy = new AppProxy(() => this.#served())
  #current: { tenant: Tenant; listener: Listener } | null = null
  #resume: (() => void) | null = null
  #lastServed = Number.NEGATIVE_INFINITY
  /** another door listens for it */
  #handedOver = false
  #asleep: Sleep | null = null

  constructor(listeners: Listeners, deployment: string) {
    this.#listeners = listeners
    this.#deployment = deployment
  }

  /** Has this place of the door before this one. Its requests wait until a keeper sends the state. */
  static inherit(listeners: Listeners, deployment: string, place: Place): Address {
    const address = new Address(listeners, deployment)
    address.#resume = address.#proxy.pause()
    address.#move(place)
    return address
  }

  apply({ address: next, upstream, held, ending, bounds }: AddressState): void {
    if (this.#asleep) {
      // the keeper that ended the agent has nothing to say any more, and the next one opens the address before its agent serves
      if (next && !this.#handedOver) this.#move(next)
      if (!next || !upstream || held) return
    }
    this.#proxy.setUpstream(upstream)
    // an agent that restarts is the same revision: its 503s are that revision's
    if (upstream) this.#proxy.figures.setRevision(upstream.revision)
    this.#proxy.bounds.set(bounds)
    this.#proxy.markEnding(ending)
    if (held) this.#resume ??= this.#proxy.pause()
    else {
      this.#resume?.()
      this.#resume = null
    }
    if (!this.#handedOver) this.#move(next)
    if (bounds) this.#current?.listener.setTimeouts(bounds)
    this.#wake()
  }

  /** Keeps the address without an agent: requests wait until a keeper's agent serves. */
  sleep({ place, bounds, waitMs }: Sleeper, onRequest: () => void): void {
    this.#resume?.()
    this.#resume = null
    this.#proxy.setUpstream(null)
    this.#proxy.bounds.set(bounds)
    this.#move(place)
    if (bounds) this.#current?.listener.setTimeouts(bounds)
    if (this.#asleep) return
    this.#asleep = new Sleep(waitMs, onRequest)
    this.#proxy.setAsleep(this.#asleep)
  }

  /** Whether a request waits for the sleeping agent. */
  get isWaking(): boolean {
    return this.#asleep?.hasRequests ?? false
  }

  /** See AppProxy. */
  get quietMs(): number | null {
    return this.#proxy.quietMs
  }

  /** Resolves when nothing is in flight to that upstream. */
  idle = (upstream: string): Promise<void> => this.#proxy.idle(upstream)

  get figures(): AgentFigures {
    return this.#proxy.figures.read()
  }

  /** Where it is reached; null: nowhere. */
  get place(): Place | null {
    return this.#current?.tenant.place ?? null
  }

  /** File descriptors of its listening sockets; empty: its port is not open. */
  get fds(): number[] {
    return this.#current?.listener.fds ?? []
  }

  /** Another door listens on the same port now. Resolves when no connection is left. */
  async handOver(): Promise<void> {
    this.#handedOver = true
    // only the next door can wake its agent
    this.#proxy.setAsleep(null)
    this.onAwake = () => undefined
    await this.#current?.listener.handOver()
  }

  /**
   * Its keeper has gone: stops new connections and ends requests in flight, unless the agent is asleep. `mayReturn`: it was lost, and
   * another one may come.
   */
  async close(mayReturn = false): Promise<void> {
    if (!this.#asleep) await this.#end(mayReturn)
  }

  /** Stops new connections and ends requests in flight. */
  remove(): Promise<void> {
    return this.#end(false)
  }

  #end(mayReturn: boolean): Promise<void> {
    this.#move(null, mayReturn)
    const closed = this.#proxy.close()
    this.#wake()
    return closed
  }

  #wake(): void {
    if (!this.#asleep) return
    this.#asleep = null
    this.#proxy.setAsleep(null)
    this.onAwake()
  }

  #move(place: Place | null, mayReturn = false): void {
    const before = this.#current
    if (JSON.stringify(place) === JSON.stringify(before?.tenant.place ?? null)) {
      before?.listener.report(before.tenant)
      return
    }
    this.#current = null
    if (place) {
      const onListening: Tenant['onListening'] = (port, problem) => this.onListening(port, problem)
      const tenant: Tenant = { deployment: this.#deployment, place, proxy: this.#proxy, onListening }
      this.#current = { tenant, listener: this.#listeners.add(tenant) }
    }
    if (before) this.#listeners.remove(before.listener, before.tenant, mayReturn)
  }

  #served(): void {
    if (performance.now() - this.#lastServed < SERVED_INTERVAL_MS) return
    this.#lastServed = performance.now()
    this.onServed()
  }
}
