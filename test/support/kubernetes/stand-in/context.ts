/** Shared by controllers and kubelets: the API, simulated durations, events, and work queues. */
import { randomUUID } from 'node:crypto'
import type { Api } from './api.ts'
import { kindNamed } from './kinds.ts'
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
  /** run time of an init container */
  init: number
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
  event(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string, component: string): void
}

const EVENT = kindNamed('Event')

export function createContext(store: Store, api: Api, logs: Logs, delays: Delays): Context & { close(): void } {
  const timers = new Set<NodeJS.Timeout>()
  const recorded = new Map<string, string>()
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
    event(about, type, reason, message, component) {
      record(store, recorded, about, { type, reason, message, component })
    },
    close() {
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}

/** A repeated event increments its count, as in the real recorder. `recorded`: object and message → name of the event. */
function record(
  store: Store,
  recorded: Map<string, string>,
  about: KubeObject,
  { type, reason, message, component }: { type: string; reason: string; message: string; component: string },
): void {
  const { name, namespace = 'default', uid, resourceVersion } = about.metadata
  const home = store.get(kindNamed('Namespace'), undefined, namespace)
  // a terminating namespace accepts no new objects
  if (!home || home.metadata.deletionTimestamp) return
  const words = `${uid}/${reason}/${message}`
  const same = store.get(EVENT, namespace, recorded.get(words) ?? '')
  if (same) {
    store.put(EVENT, { ...same, count: same.count + 1, lastTimestamp: timestamp() })
    return
  }
  const suffix = randomUUID().replaceAll('-', '').slice(0, 16)
  recorded.set(words, `${name}.${suffix}`)
  store.put(EVENT, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${name}.${suffix}`,
      namespace,
      uid: randomUUID(),
      resourceVersion: '',
      creationTimestamp: timestamp(),
    },
    involvedObject: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid, resourceVersion },
    type,
    reason,
    message,
    count: 1,
    firstTimestamp: timestamp(),
    lastTimestamp: timestamp(),
    eventTime: null,
    source: { component },
    reportingComponent: component,
    reportingInstance: '',
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

  /** Processes the key again, with growing delays. */
  retry(key: string): void {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, Math.min(failures + 1, 5))
    this.add(key, this.#context.delays.retry * 2 ** failures)
  }

  succeeded(key: string): void {
    this.#failures.delete(key)
  }
}

export const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`

export const splitKey = (key: string): { namespace: string; name: string } => {
  const [namespace = '', name = ''] = key.split('/')
  return { namespace, name }
}
