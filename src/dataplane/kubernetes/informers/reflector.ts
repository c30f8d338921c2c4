/** Keeps the store up to date for one kind in one namespace: lists, then watches. Each list corrects missed events. */
import { sleep } from '../../../platform/async/retry.ts'
import { ApiRefused, ClusterClosedError, Unreachable } from '../api-server/errors.ts'
import type { Kind } from '../api-server/kinds.ts'
import { pause } from '../api-server/retry.ts'
import type { LiveObject } from '../objects/types.ts'
import { listAll } from './list.ts'
import type { ClusterAccess } from './store.ts'
import { type WatchOptions, watchOnce } from './watch.ts'

export interface ReflectorOptions {
  access: ClusterAccess
  kind: Kind
  namespace: string
  onFailure: (error: unknown) => void
  onRecovery: () => void
}

/** ms; a watch that ends earlier did not really start */
const MIN_WATCH_MS = 1000

export class Reflector {
  /** resolves when all objects are known; rejects with ApiRefused, and stops, when the first list is refused */
  readonly ready: Promise<void>
  readonly #options: ReflectorOptions
  readonly #end = new AbortController()
  #connection = new AbortController()
  #watching = false
  #failure: string | null = null
  #hasListed = false
  #known!: () => void
  #refused!: (error: unknown) => void

  constructor(options: ReflectorOptions) {
    this.#options = options
    this.ready = new Promise((resolve, reject) => {
      this.#known = resolve
      this.#refused = reject
    })
    this.ready.catch(() => undefined)
    void this.#run()
  }

  get failure(): string | null {
    return this.#failure
  }

  get current(): boolean {
    return this.#hasListed && this.#failure === null && !this.#end.signal.aborted
  }

  /** Reconnects from the current version, because the connection may be dead. */
  renew(): void {
    if (this.#watching) this.#connection.abort()
  }

  close(): void {
    this.#refused(new ClusterClosedError('The cluster was closed'))
    this.#end.abort()
    this.#connection.abort()
  }

  async #run(): Promise<void> {
    const { times } = this.#options.access
    /** resource version to watch from; null: list first */
    let version: string | null = null
    let listedAt = 0
    for (let failures = 0; !this.#end.signal.aborted; ) {
      const startedAt = performance.now()
      this.#connection = new AbortController()
      try {
        if (version === null || startedAt - listedAt > times.relist) {
          version = await this.#list()
          listedAt = startedAt
        }
        await this.#watch(version, (reached) => {
          version = reached
          failures = 0
        })
        // prevents a busy loop when a server or proxy ends each watch immediately
        if (performance.now() - startedAt < MIN_WATCH_MS) await this.#wait(failures++, null)
        else failures = 0
      } catch (error) {
        if (this.#end.signal.aborted) return
        // this process closed the connection, so it reconnects without a delay
        if (this.#connection.signal.aborted && !(error instanceof Unreachable)) continue
        const expired = error instanceof ApiRefused && error.status === 410
        if (error instanceof ApiRefused && !expired && !this.#hasListed) {
          this.#refused(error)
          return
        }
        if (performance.now() - startedAt > times.longestRetry) failures = 0
        if (expired) version = null
        else this.#failed(error)
        if (!expired || failures > 0) await this.#wait(failures, error)
        failures++
      }
    }
  }

  async #wait(failures: number, error: unknown): Promise<void> {
    await sleep(pause(this.#options.access.times, failures, error), this.#end.signal)
  }

  /** Replaces the stored objects with a new list. Returns the resource version to watch from. */
  async #list(): Promise<string> {
    const { access, kind, namespace } = this.#options
    const names = new Set<string>()
    const put = (object: LiveObject) => {
      names.add(object.metadata.name)
      access.store.put(object)
    }
    const version = await listAll(access.api, kind, namespace, put, this.#end.signal)
    access.store.retain(kind, namespace, names)
    this.#hasListed = true
    this.#known()
    return version
  }

  /** Watches until the server ends the watch. `reached` gets each new resource version. */
  async #watch(from: string, reached: (version: string) => void): Promise<void> {
    const { access, kind, namespace } = this.#options
    const { store, times } = access
    const connection = this.#connection
    // random, so that watches don't end at the same moment
    const seconds = Math.max(1, Math.round((times.watch * (0.75 + Math.random() / 4)) / 1000))
    // the server should end the watch; if no end arrives, the connection is dead
    const watchdog = setTimeout(() => connection.abort(), seconds * 1000 + times.silence)
    const onOpen = () => {
      this.#watching = true
      this.#recovered()
    }
    const onEvent: WatchOptions['onEvent'] = (type, object) => {
      if (type === 'DELETED') store.remove({ ...object, ...object.metadata })
      else if (type !== 'BOOKMARK') store.put(object)
      reached(object.metadata.resourceVersion)
    }
    try {
      await watchOnce(access.api, { kind, namespace, from, seconds, onOpen, onEvent }, connection.signal)
    } finally {
      this.#watching = false
      clearTimeout(watchdog)
    }
  }

  #failed(error: unknown): void {
    this.#failure = error instanceof Error ? error.message : String(error)
    this.#options.onFailure(error)
  }

  #recovered(): void {
    if (this.#failure === null) return
    this.#failure = null
    this.#options.onRecovery()
  }
}
