/**
 * Watches a kind that can be done without. Where we have no rights for it (a Role of an earlier version of this
 * program) that is said once, and it is asked for again now and then: the rights may be given later.
 */
import type { Logger } from 'pino'
import type { ClusterAccess } from './access.ts'
import { ApiRefused } from './errors.ts'
import type { Kind } from './kinds.ts'
import { Watcher } from './watcher.ts'

export interface OptionalWatchOptions {
  access: ClusterAccess
  kind: Kind
  namespace: string
  log: Logger
}

export class OptionalWatch {
  readonly #options: OptionalWatchOptions
  #watcher: Watcher
  #said = false
  #retry: NodeJS.Timeout | null = null

  constructor(options: OptionalWatchOptions) {
    this.#options = options
    this.#watcher = this.#begin()
  }

  /** What is known of the kind is up to date. */
  get current(): boolean {
    return this.#watcher.current
  }

  renew(): void {
    this.#watcher.renew()
  }

  close(): void {
    if (this.#retry) clearTimeout(this.#retry)
    this.#watcher.close()
  }

  #begin(): Watcher {
    const { access, kind, namespace } = this.#options
    // what keeps it from going on is what keeps the others from it, and they say so
    const silent = () => undefined
    const watcher = new Watcher({ access, kind, namespace, onFailure: silent, onRecovery: silent })
    watcher.ready.catch((error) => {
      if (error instanceof ApiRefused) this.#refused(error)
    })
    return watcher
  }

  #refused(error: ApiRefused): void {
    const { kind, log, access } = this.#options
    if (!this.#said) log.warn({ err: error }, `${kind.resource} are not watched: ${kind.optional}`)
    this.#said = true
    this.#retry = setTimeout(() => {
      this.#watcher = this.#begin()
    }, access.times.relist)
  }
}
