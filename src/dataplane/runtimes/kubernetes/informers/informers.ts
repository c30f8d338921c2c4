/**
 * The informers of the namespaces that are watched: in each, one reflector for each kind, however many deployments there
 * are. Kinds that are optional keep nobody waiting, and are no problem when they can't be had.
 */

import type { Logger } from 'pino'
import { Scope } from '../../../../platform/async/time-limit.ts'
import { KINDS, type Kind } from '../api-server/kinds.ts'
import { OptionalReflector } from './optional-reflector.ts'
import { Reflector } from './reflector.ts'
import type { ClusterAccess } from './store.ts'

interface Namespace {
  reflectors: Reflector[]
  optional: Map<Kind, OptionalReflector>
  ready: Promise<unknown>
}

export class Informers {
  readonly #access: ClusterAccess
  readonly #log: Logger
  readonly #namespaces = new Map<string, Namespace>()
  #failing = false

  constructor(access: ClusterAccess, log: Logger) {
    this.#access = access
    this.#log = log
  }

  /** See Cluster.open. */
  async open(namespace: string, signal: AbortSignal): Promise<void> {
    const waiting = new Scope(signal, () => undefined)
    try {
      const { ready } = this.#namespaces.get(namespace) ?? this.#begin(namespace)
      await waiting.unlessAborted(ready)
    } finally {
      waiting.end()
    }
  }

  /** Connections may be dead. */
  renew(): void {
    for (const { reflectors, optional } of this.#namespaces.values())
      for (const reflector of [...reflectors, ...optional.values()]) reflector.renew()
  }

  /** Whether what is known of an optional kind is up to date. */
  isCurrent(namespace: string, kind: Kind): boolean {
    return this.#namespaces.get(namespace)?.optional.get(kind)?.current ?? false
  }

  /** What is wrong with one of them; null: nothing. */
  problem(): string | null {
    for (const { reflectors } of this.#namespaces.values()) {
      const failing = reflectors.find(({ failure }) => failure !== null)
      if (failing) return failing.failure
    }
    return null
  }

  close(): void {
    for (const namespace of [...this.#namespaces.keys()]) this.#end(namespace)
  }

  #begin(namespace: string): Namespace {
    const access = this.#access
    const onFailure = (error: unknown) => this.#failed(error)
    const onRecovery = () => this.#recovered()
    const reflectors = KINDS.filter((kind) => !kind.optional).map(
      (kind) => new Reflector({ access, kind, namespace, onFailure, onRecovery }),
    )
    const ready = Promise.all(reflectors.map((reflector) => reflector.ready))
    const optional = new Map(
      KINDS.filter((kind) => kind.optional).map((kind) => [
        kind,
        new OptionalReflector({ access, kind, namespace, log: this.#log }),
      ]),
    )
    const begun = { reflectors, optional, ready }
    this.#namespaces.set(namespace, begun)
    // without the rights for all of it nothing can be done there; who asks again may have them by then
    ready.catch(() => {
      this.#end(namespace)
      for (const kind of KINDS) access.store.retain(kind, namespace, new Set())
    })
    return begun
  }

  /** Said once, not for each kind and try. */
  #failed(error: unknown): void {
    if (!this.#failing) this.#log.warn({ err: error }, "Can't follow what happens in the cluster; trying again")
    this.#failing = true
  }

  #recovered(): void {
    if (!this.#failing || this.problem() !== null) return
    this.#failing = false
    this.#log.info('Everything that happens in the cluster is followed again')
  }

  #end(namespace: string): void {
    const { reflectors = [], optional = new Map() } = this.#namespaces.get(namespace) ?? {}
    for (const reflector of [...reflectors, ...optional.values()]) reflector.close()
    this.#namespaces.delete(namespace)
  }
}
