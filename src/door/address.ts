/** The address of one deployment: applies the state that its keeper sends. */
import type { AddressState } from '../dataplane/process/door/messages.ts'
import { backoff, sleep } from '../platform/async/retry.ts'
import { AppProxy } from './proxy.ts'

const SERVED_INTERVAL_MS = 60_000

type Place = NonNullable<AddressState['address']>

export class Address {
  onListening: (port: number, problem: string | null) => void = () => undefined
  onServed: () => void = () => undefined
  readonly #proxy = new AppProxy(() => this.#served())
  #place: Place | null = null
  #resume: (() => void) | null = null
  /** resolves when no attempt to listen runs */
  #opened: Promise<void> = Promise.resolve()
  /** aborted when the place changes */
  #retries = new AbortController()
  #lastServed = Number.NEGATIVE_INFINITY
  /** another door listens for it */
  #handedOver = false

  /** Listens on a socket of the door before this one. Its requests wait until a keeper sends the state. */
  static inherit(fd: number, place: Place): Address {
    const address = new Address()
    address.#place = place
    address.#resume = address.#proxy.pause()
    void address.#proxy.listen({ fd }).catch(() => {
      // the next state opens it again
      address.#place = null
    })
    return address
  }

  apply({ address: next, upstream, held, ending }: AddressState): void {
    this.#proxy.setUpstream(upstream)
    this.#proxy.markEnding(ending)
    if (held) this.#resume ??= this.#proxy.pause()
    else {
      this.#resume?.()
      this.#resume = null
    }
    if (this.#handedOver) return
    if (this.#place?.port === next?.port && this.#place?.host === next?.host) {
      if (next && this.#proxy.listening) this.onListening(next.port, null)
      return
    }
    this.#place = next
    this.#retries.abort()
    this.#retries = new AbortController()
    if (next) this.#opened = this.#opened.then(() => this.#listen(next))
    else this.#proxy.stopListening()
  }

  /** Resolves when nothing is in flight to that upstream. */
  idle = (upstream: string): Promise<void> => this.#proxy.idle(upstream)

  /** Its place and the file descriptor of its listening socket; null: it does not listen. */
  listening(): (Place & { fd: number }) | null {
    const fd = this.#proxy.listening
    return this.#place && fd !== null ? { ...this.#place, fd } : null
  }

  /** Another door listens on the same socket now. Resolves when no connection is left. */
  handOver(): Promise<void> {
    this.#place = null
    this.#handedOver = true
    return this.#proxy.handOver()
  }

  /** Stops new connections and ends requests in flight. */
  close(): Promise<void> {
    this.#place = null
    return this.#proxy.close()
  }

  /** Retries without limit: an ending supervisor of an earlier version, or another program, may still have the port. */
  async #listen(place: Place): Promise<void> {
    const { signal } = this.#retries
    this.#proxy.stopListening()
    for (let tries = 0; this.#place === place; tries++) {
      try {
        await this.#proxy.listen({ ...place, exclusive: true })
        if (this.#place === place) return this.onListening(place.port, null)
        return this.#proxy.stopListening()
      } catch (error) {
        this.onListening(place.port, (error as NodeJS.ErrnoException).code ?? 'unknown')
      }
      await sleep(backoff(Math.max(0, tries - 10), 200, 5000), signal)
    }
  }

  #served(): void {
    if (performance.now() - this.#lastServed < SERVED_INTERVAL_MS) return
    this.#lastServed = performance.now()
    this.onServed()
  }
}
