/** Shared by controllers and kubelets: the API, simulated durations, warnings, and work queues. */
import { createHash, randomUUID } from 'node:crypto'
import type { Api } from './api.ts'
import { type Kind, kindNamed } from './kinds.ts'
import type { Logs } from './logs.ts'
import { type KubeObject, timestamp } from './objects.ts'
import type { Store } from './store.ts'

/** Simulated durations in ms. They are small, so that tests are fast. */
export interface Delays {
  /** delay before a controller handles a change */
  controller: number
  /** ms before a controller retries; doubles up to 32 times this */
  retry: number
  /** to provision a volume; its pod is unschedulable until then */
  provision: number
  /** to pull an image, or to fail to pull it */
  pull: number
  /** from a running container to a ready one */
  ready: number
  /** from the start of a `crash` container to its end */
  crash: number
  /** first back-off of a crash loop; doubles up to 32 times this */
  backOff: number
  /** from the deletion of a pod to its end */
  terminate: number
}

export interface Context {
  store: Store
  api: Api
  logs: Logs
  delays: Delays
  /** Runs after `ms` unless the stand-in is closed before. */
  after(ms: number, run: () => void): NodeJS.Timeout
  /** Records a Warning event. */
  warn(about: KubeObject, reason: string, message: string): void
}

export function createContext(store: Store, api: Api, logs: Logs, delays: Delays): Context & { close(): void } {
  const timers = new Set<NodeJS.Timeout>()
  return {
    store,
    api,
    logs,
    delays,
    after(ms, run) {
      const timer = setTimeout(() => {
        timers.delete(timer)
        run()
      }, ms)
      timers.add(timer)
      return timer
    },
    warn: (about, reason, message) => record(store, about, reason, message),
    close() {
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}

/** A repeated event replaces the earlier one, as in the real recorder. */
function record(store: Store, about: KubeObject, reason: string, message: string): void {
  const { name, namespace, uid } = about.metadata
  const digest = createHash('sha1').update(`${uid}/${reason}/${message}`).digest('hex').slice(0, 16)
  const at = timestamp()
  store.put(kindNamed('Event'), {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${name}.${digest}`,
      namespace: namespace!,
      uid: randomUUID(),
      resourceVersion: '',
      creationTimestamp: at,
    },
    involvedObject: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid },
    type: 'Warning',
    reason,
    message,
    lastTimestamp: at,
  })
}

/** Keys to process soon after they were added, each at most once at a time. */
export class WorkQueue {
  readonly #context: Context
  readonly #work: (key: string) => void
  readonly #due = new Map<string, { timer: NodeJS.Timeout; at: number }>()
  readonly #failures = new Map<string, number>()

  constructor(context: Context, work: (key: string) => void) {
    this.#context = context
    this.#work = work
  }

  add(key: string, ms = this.#context.delays.controller): void {
    const at = Date.now() + ms
    const due = this.#due.get(key)
    if (due && due.at <= at) return
    if (due) clearTimeout(due.timer)
    const timer = this.#context.after(ms, () => {
      this.#due.delete(key)
      this.#work(key)
    })
    this.#due.set(key, { timer, at })
  }

  /** After a failure processes the key again, with growing delays. */
  retryIf(failed: boolean, key: string): void {
    if (!failed) return void this.#failures.delete(key)
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, Math.min(failures + 1, 5))
    this.add(key, this.#context.delays.retry * 2 ** failures)
  }
}

/** A queue that calls `reconcile` for an object of this kind after each change of it. */
export function reconciling(
  context: Context,
  kind: Kind,
  reconcile: (object: KubeObject, key: string) => void,
): WorkQueue {
  const queue = new WorkQueue(context, (key) => {
    const [namespace, name = ''] = key.split('/')
    const object = context.store.get(kind, namespace, name)
    if (object) reconcile(object, key)
  })
  context.store.onChange((change) => {
    if (change.kind === kind && change.type !== 'DELETED') queue.add(keyOf(change.object))
  })
  return queue
}

export const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`
