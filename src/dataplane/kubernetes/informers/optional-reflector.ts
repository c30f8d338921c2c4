/** Watches an optional kind. Logs missing permissions once and retries, because they may be granted later. */
import type { Logger } from 'pino'
import { ApiRefused } from '../api-server/errors.ts'
import type { Kind } from '../api-server/kinds.ts'
import { Reflector } from './reflector.ts'
import type { ClusterAccess } from './store.ts'

export interface OptionalReflectorOptions {
  access: ClusterAccess
  kind: Kind
  namespace: string
  log: Logger
}

export class OptionalReflector {
  readonly #options: OptionalReflectorOptions
  #reflector: Reflector
  #refusal: string | null = null
  #retry: NodeJS.Timeout | null = null

  /** resolves when it is known whether the kind is available */
  readonly settled: Promise<void>

  constructor(options: OptionalReflectorOptions) {
    this.#options = options
    this.#reflector = this.#begin()
    this.settled = this.#reflector.ready.catch(() => undefined)
  }

  /** Why the kind is unavailable, in sentences; null: it is available, as far as is known. */
  get refusal(): string | null {
    return this.#refusal
  }

  get current(): boolean {
    return this.#reflector.current
  }

  renew(): void {
    this.#reflector.renew()
  }

  close(): void {
    if (this.#retry) clearTimeout(this.#retry)
    this.#reflector.close()
  }

  #begin(): Reflector {
    const { access, kind, namespace } = this.#options
    // other reflectors report the same connection problem
    const silent = () => undefined
    const reflector = new Reflector({ access, kind, namespace, onFailure: silent, onRecovery: silent })
    reflector.ready.then(
      () => this.#granted(),
      (error) => {
        if (error instanceof ApiRefused) this.#refused(error)
      },
    )
    return reflector
  }

  #granted(): void {
    if (this.#refusal === null) return
    this.#refusal = null
    const { access, namespace } = this.#options
    access.store.touch(namespace)
  }

  #refused(error: ApiRefused): void {
    const { kind, log, access } = this.#options
    if (this.#refusal === null) log.warn({ err: error }, `${kind.resource} are not watched: ${kind.optional}`)
    this.#refusal =
      error.status === 404
        ? `The cluster has no ${kind.resource} of ${kind.apiVersion}.`
        : `${error.message}. Apply the manifest of the listener again to grant the permissions.`
    this.#retry = setTimeout(() => {
      this.#reflector = this.#begin()
    }, access.times.relist)
  }
}
