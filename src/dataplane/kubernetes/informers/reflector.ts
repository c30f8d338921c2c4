/** Keeps the store up to date for one kind in one namespace: lists, then watches. Each list corrects missed events. */
import { sleep } from '../../../platform/async/retry.ts'
import { splitLines } from '../../../platform/http/lines.ts'
import { ApiRefused, ClusterClosedError, Unreachable } from '../api-server/errors.ts'
import { collectionPath, type Kind, SELECTOR } from '../api-server/kinds.ts'
import { pause } from '../api-server/retry.ts'
import type { LiveObject } from '../objects/types.ts'
import type { ClusterAccess } from './store.ts'

export interface ReflectorOptions {
  access: ClusterAccess
  kind: Kind
  namespace: string
  onFailure: (error: unknown) => void
  onRecovery: () => void
  /** called when the first list of an optional kind is refused; the reflector tries again periodically */
  onRefused: (error: ApiRefused) => void
}

interface Page {
  metadata: { resourceVersion: string; continue?: string }
  items: LiveObject[]
}

interface Event {
  /** `BOOKMARK`: only a newer resource version for the next watch */
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  object: LiveObject & { code?: number; message?: string }
}

/** ms; a watch that ends earlier did not really start */
const MIN_WATCH_MS = 1000
const PAGE_SIZE = 500
/** characters; etcd stores no object above a few MB */
const MAX_EVENT_CHARACTERS = 32 * 1024 * 1024

export class Reflector {
  /** resolves when all objects are known or an optional kind is refused; rejects when the first list is refused */
  readonly ready: Promise<void>
  readonly #options: ReflectorOptions
  readonly #end = new AbortController()
  #connection = new AbortController()
  #watching = false
  #hasListed = false
  #settle!: () => void
  #reject!: (error: unknown) => void
  /** message of the last failure; null: lists and watches work */
  failure: string | null = null
  /** Why an optional kind is unavailable, in sentences; null: it is available, as far as is known. */
  refusal: string | null = null

  constructor(options: ReflectorOptions) {
    this.#options = options
    this.ready = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#reject = reject
    })
    this.ready.catch(() => undefined)
    void this.#run()
  }

  get current(): boolean {
    return this.#hasListed && this.failure === null && !this.#end.signal.aborted
  }

  /** Reconnects from the current version, because the connection may be dead. */
  renew(): void {
    if (this.#watching) this.#connection.abort()
  }

  close(): void {
    this.#reject(new ClusterClosedError('The cluster was closed'))
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
          if (!this.#options.kind.optional) return this.#reject(error)
          this.#refuse(error)
          await sleep(times.relist, this.#end.signal)
          continue
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
    for (let next: string | undefined; ; ) {
      const page: Page = await access.api.call<Page>(
        {
          method: 'GET',
          path: collectionPath(kind, namespace),
          query: { labelSelector: SELECTOR, limit: String(PAGE_SIZE), continue: next },
          action: `list ${kind.resource} in namespace "${namespace}"`,
          secret: kind.kind === 'Secret',
        },
        this.#end.signal,
      )
      for (const item of page.items) {
        names.add(item.metadata.name)
        // items of a list have no kind or apiVersion
        access.store.put({ ...item, apiVersion: kind.apiVersion, kind: kind.kind })
      }
      next = page.metadata.continue || undefined
      if (next) continue
      access.store.retain(kind, namespace, names)
      this.#known()
      return page.metadata.resourceVersion
    }
  }

  #known(): void {
    this.#hasListed = true
    this.#settle()
    if (this.refusal === null) return
    this.refusal = null
    this.#options.access.store.touch(this.#options.namespace)
  }

  /**
   * Watches until the server ends the watch: one line of JSON per change. `reached` gets each new resource version.
   * Throws ApiRefused 410 when `from` is too old. See README.md for why not the library's Watch.
   */
  async #watch(from: string, reached: (version: string) => void): Promise<void> {
    const { access, kind, namespace } = this.#options
    const { store, times } = access
    const connection = this.#connection
    // random, so that watches don't end at the same moment
    const seconds = Math.max(1, Math.round((times.watch * (0.75 + Math.random() / 4)) / 1000))
    // the server should end the watch; if no end arrives, the connection is dead
    const watchdog = setTimeout(() => connection.abort(), seconds * 1000 + times.silence)
    const action = `watch ${kind.resource} in namespace "${namespace}"`
    const query = {
      watch: 'true',
      labelSelector: SELECTOR,
      resourceVersion: from,
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(seconds),
    }
    try {
      const path = collectionPath(kind, namespace)
      const stream = await access.api.stream({ method: 'GET', path, query, action }, connection.signal)
      this.#watching = true
      this.#recovered()
      await splitLines(stream, MAX_EVENT_CHARACTERS, (line) => {
        const { type, object } = parsed(line)
        if (type === 'ERROR') {
          const { code, message = 'no reason given' } = object
          if (code === 410) throw new ApiRefused(410, 'Expired', message)
          throw new Unreachable(`The API server refused to ${action}: ${message}`)
        }
        if (type === 'DELETED') store.remove({ ...object, ...object.metadata })
        else if (type !== 'BOOKMARK') store.put(object)
        reached(object.metadata.resourceVersion)
      })
    } finally {
      this.#watching = false
      clearTimeout(watchdog)
    }
  }

  /** Permissions of an optional kind are missing, and may be granted later. */
  #refuse(error: ApiRefused): void {
    const { kind, onRefused } = this.#options
    if (this.refusal === null) onRefused(error)
    this.refusal =
      error.status === 404
        ? `The cluster has no ${kind.resource} of ${kind.apiVersion}.${kind.advice ? ` ${kind.advice}` : ''}`
        : `${error.message}. Apply the manifest of the listener again to grant the permissions.`
    this.#settle()
  }

  #failed(error: unknown): void {
    this.failure = error instanceof Error ? error.message : String(error)
    this.#options.onFailure(error)
  }

  #recovered(): void {
    if (this.failure === null) return
    this.failure = null
    this.#options.onRecovery()
  }
}

function parsed(line: string): Event {
  try {
    return JSON.parse(line) as Event
  } catch {
    // the connection was cut within a line; the next watch repeats the event
    throw new Unreachable('A watch was cut off')
  }
}
