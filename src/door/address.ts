/** The address of one deployment: applies the state that its keeper sends. */
import type { AddressState, Figures, Place } from '../dataplane/process/door/messages.ts'
import type { Listener, Tenant } from './listener.ts'
import type { Listeners } from './listeners.ts'
import { AppProxy } from './proxy.ts'

const SERVED_INTERVAL_MS = 60_000

export class Address {
  onListening: (port: number, problem: string | null) => void = () => undefined
  onServed: () => void = () => undefined
  readonly #listeners: Listeners
  readonly #deployment: string
  readonly #proxy = new AppProxy(() => this.#served())
  #current: { tenant: Tenant; listener: Listener } | null = null
  #resume: (() => void) | null = null
  #lastServed = Number.NEGATIVE_INFINITY
  /** another door listens for it */
  #handedOver = false

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
    this.#proxy.setUpstream(upstream)
    this.#proxy.bounds.set(bounds)
    this.#proxy.markEnding(ending)
    if (held) this.#resume ??= this.#proxy.pause()
    else {
      this.#resume?.()
      this.#resume = null
    }
    if (!this.#handedOver) this.#move(next)
    if (bounds) this.#current?.listener.setTimeouts(bounds)
  }

  /** Resolves when nothing is in flight to that upstream. */
  idle = (upstream: string): Promise<void> => this.#proxy.idle(upstream)

  get figures(): Figures {
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
    await this.#current?.listener.handOver()
  }

  /** Stops new connections and ends requests in flight. */
  close(): Promise<void> {
    this.#move(null)
    return this.#proxy.close()
  }

  #move(place: Place | null): void {
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
    if (before) this.#listeners.remove(before.listener, before.tenant)
  }

  #served(): void {
    if (performance.now() - this.#lastServed < SERVED_INTERVAL_MS) return
    this.#lastServed = performance.now()
    this.onServed()
  }
}
