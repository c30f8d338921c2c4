/** Informers: one reflector per kind and namespace, shared by all deployments. Optional kinds delay no start. */
import type { Logger } from 'pino'
import { AbortScope } from '../../../platform/async/time-limit.ts'
import { KINDS, type Kind } from '../api-server/kinds.ts'
import { Reflector } from './reflector.ts'
import type { ClusterAccess } from './store.ts'

interface Namespace {
  reflectors: Map<Kind, Reflector>
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
    for (const namespace of this.#namespaces.keys())
      for (const [, reflector] of this.#reflectors(namespace)) reflector.renew()
  }

  /** True: the store is up to date for a kind in a namespace. */
  isCurrent(namespace: string, kind: Kind): boolean {
    return this.#namespaces.get(namespace)?.reflectors.get(kind)?.current ?? false
  }

  refused(namespace: string): Map<string, string> {
    return new Map(
      this.#reflectors(namespace).flatMap(([{ kind }, { refusal }]) => (refusal === null ? [] : [[kind, refusal]])),
    )
  }

  problem(): string | null {
    for (const namespace of this.#namespaces.keys())
      for (const [kind, { failure }] of this.#reflectors(namespace))
        if (failure !== null && !kind.optional) return failure
    return null
  }

  close(): void {
    for (const namespace of this.#namespaces.keys()) this.#end(namespace)
  }

  #reflectors(namespace: string): [Kind, Reflector][] {
    return [...(this.#namespaces.get(namespace)?.reflectors ?? [])]
  }

  #begin(namespace: string): Namespace {
    const access = this.#access
    const silent = () => undefined
    const reflectorOf = (kind: Kind) =>
      new Reflector({
        access,
        kind,
        namespace,
        // the reflectors of required kinds report the same connection problem
        onFailure: kind.optional ? silent : (error) => this.#failed(error),
        onRecovery: kind.optional ? silent : () => this.#recovered(),
        onRefused: (err) =>
          this.#log[kind.rare ? 'info' : 'warn']({ err }, `${kind.resource} are not watched: ${kind.optional}`),
      })
    const reflectors = new Map(KINDS.map((kind) => [kind, reflectorOf(kind)]))
    // applied kinds must be known before a start; other optional kinds need not
    const awaited = [...reflectors].filter(([kind]) => !kind.optional || kind.applied)
    const ready = Promise.all(awaited.map(([, reflector]) => reflector.ready))
    const started = { reflectors, ready }
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
    for (const [, reflector] of this.#reflectors(namespace)) reflector.close()
    this.#namespaces.delete(namespace)
  }
}
