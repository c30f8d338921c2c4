/** Informers: one reflector per kind and namespace, shared by all deployments. Optional kinds delay no start. */

import type { Logger } from 'pino'
import { AbortScope } from '../../../platform/async/time-limit.ts'
import { KINDS, type Kind } from '../api-server/kinds.ts'
import { OptionalReflector } from './optional-reflector.ts'
import { Reflector } from './reflector.ts'
import type { ClusterAccess } from './store.ts'

interface Namespace {
  required: Map<Kind, Reflector>
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

  async open(namespace: string, signal: AbortSignal): Promise<void> {
    const waiting = new AbortScope(signal, () => undefined)
    try {
      const { ready } = this.#namespaces.get(namespace) ?? this.#begin(namespace)
      await waiting.unlessAborted(ready)
    } finally {
      waiting.end()
    }
  }

  /** Reconnects all watches, because their connections may be dead. */
  renew(): void {
    for (const { required, optional } of this.#namespaces.values())
      for (const reflector of [...required.values(), ...optional.values()]) reflector.renew()
  }

  /** True: the store is up to date for a kind in a namespace. */
  isCurrent(namespace: string, kind: Kind): boolean {
    const { required, optional } = this.#namespaces.get(namespace) ?? {}
    return (required?.get(kind) ?? optional?.get(kind))?.current ?? false
  }

  refused(namespace: string): Map<string, string> {
    const { optional = new Map<Kind, OptionalReflector>() } = this.#namespaces.get(namespace) ?? {}
    return new Map([...optional].flatMap(([{ kind }, { refusal }]) => (refusal === null ? [] : [[kind, refusal]])))
  }

  problem(): string | null {
    for (const { required } of this.#namespaces.values()) {
      const failing = [...required.values()].find(({ failure }) => failure !== null)
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
    const required = new Map(
      KINDS.filter((kind) => !kind.optional).map((kind) => [
        kind,
        new Reflector({ access, kind, namespace, onFailure, onRecovery }),
      ]),
    )
    const optional = new Map(
      KINDS.filter((kind) => kind.optional).map((kind) => [
        kind,
        new OptionalReflector({ access, kind, namespace, log: this.#log }),
      ]),
    )
    // applied kinds must be known before a start; other optional kinds need not
    const applied = [...optional].flatMap(([kind, reflector]) => (kind.applied ? [reflector.settled] : []))
    const ready = Promise.all([...[...required.values()].map((reflector) => reflector.ready), ...applied])
    const started = { required, optional, ready }
    this.#namespaces.set(namespace, started)
    // without permissions for all kinds the namespace is unusable; a later `open` tries again
    ready.catch(() => {
      this.#end(namespace)
      for (const kind of KINDS) access.store.retain(kind, namespace, new Set())
    })
    return started
  }

  /** Logs a problem once, not per kind and try. */
  #failed(error: unknown): void {
    if (!this.#failing) this.#log.warn({ err: error }, 'A watch of the cluster failed; retrying')
    this.#failing = true
  }

  #recovered(): void {
    if (!this.#failing || this.problem() !== null) return
    this.#failing = false
    this.#log.info('All watches of the cluster work again')
  }

  #end(namespace: string): void {
    const { required = new Map(), optional = new Map() } = this.#namespaces.get(namespace) ?? {}
    for (const reflector of [...required.values(), ...optional.values()]) reflector.close()
    this.#namespaces.delete(namespace)
  }
}
