/** The ports of a door, each open while a deployment uses it. */
import type { InheritedAddress } from '../dataplane/process/door/start-door.ts'
import { AccessLog } from './access-log.ts'
import type { Guard } from './guard.ts'
import { Listener, type Tenant } from './listener.ts'
import { CertificateStore } from './stores.ts'

export class Listeners {
  readonly guard: Guard
  readonly certificates: CertificateStore
  readonly accessLog: AccessLog
  readonly #byPlace = new Map<string, Listener>()
  /** the port of all deployments with a name */
  #ofNames: Listener | null = null

  constructor(guard: Guard, certificates = new CertificateStore(), accessLog = new AccessLog()) {
    this.guard = guard
    this.certificates = certificates
    this.accessLog = accessLog
  }

  /** Takes over the sockets of the door before this one. */
  async inherit(addresses: readonly InheritedAddress[]): Promise<void> {
    for (const { port, host, tls, fd, fd6 } of addresses) {
      const key = keyOf({ port, host })
      if (this.#byPlace.has(key)) continue
      const listener = new Listener({ port, host, ...(tls && { tls }) }, this)
      this.#byPlace.set(key, listener)
      await listener.inherit(fd6 === undefined ? [fd] : [fd, fd6]).catch(() => void listener.open())
    }
  }

  /** Opens the port, unless it is open. */
  add(tenant: Tenant): Listener {
    const key = keyOf(tenant.place)
    const found = this.#byPlace.get(key)
    const listener = found ?? new Listener(tenant.place, this)
    listener.add(tenant)
    if (!found) {
      this.#byPlace.set(key, listener)
      void listener.open()
    }
    if (tenant.place.name !== undefined) this.#keepOpen(listener)
    return listener
  }

  /** Closes the port when no other deployment uses it. `mayReturn`: the port of names stays open for the next keeper. */
  remove(listener: Listener, tenant: Tenant, mayReturn = false): void {
    listener.remove(tenant)
    if (!mayReturn || listener !== this.#ofNames) this.#closeUnused(listener)
  }

  /** The next door opens the port of names when a keeper comes. */
  handOver(): void {
    this.#keepOpen(null)
  }

  #keepOpen(listener: Listener | null): void {
    const before = this.#ofNames
    this.#ofNames = listener
    if (before && before !== listener) this.#closeUnused(before)
  }

  #closeUnused(listener: Listener): void {
    if (!listener.isUnused) return
    listener.close()
    for (const [key, one] of this.#byPlace) if (one === listener) this.#byPlace.delete(key)
  }
}

const keyOf = ({ port, host }: { port: number; host: string }) => `${host} ${port}`
