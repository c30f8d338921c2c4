/** Applies changed manifests of one deployment and prunes others. Records applied objects to detect drift. */
import type { Logger } from 'pino'
import type { Progress } from '../../../domain/protocol/protocol.ts'
import { backoff } from '../../../platform/async/retry.ts'
import { ApiRefused, Contended, LeaseOverError, StaleError } from '../api-server/errors.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Fence } from '../cluster/fencing.ts'
import { componentOf } from '../objects/labels.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import { type AppliedObject, appliedObject, autoscaledKeys, hasDrifted, keyOf, manifestDigest } from './drift.ts'

interface ApplierOptions {
  cluster: Cluster
  deploymentId: string
  fence: Fence
  log: Logger
  signal: AbortSignal
  /** True: the database and cache may restart for a changed rendering. False: the applier asks again later. */
  mayRestart: () => boolean
  requeueAfter: (ms: number) => void
}

/** first and longest wait before a repeated repair, and ms without drift after which repairs are immediate again */
export const REPAIR_MS = [1000, 60_000, 120_000] as const
/** recent repairs of one object that are reported as contention */
const CONTENTION_REPAIRS = 3
/** first and longest wait before a refused request is repeated, in ms; it ends when the desired state changes */
export const REFUSED_MS = [5000, 300_000] as const
/** ms after which an applied object must be observed; otherwise it was deleted between two observations */
const OBSERVED_BY_MS = 10_000
const VOLUME = 'PersistentVolumeClaim'

export class Applier {
  readonly #options: ApplierOptions
  readonly #applied = new Map<string, AppliedObject>()
  /** Accepted repairs, and those that lost against constant writes. An API outage repeats one repair many times. */
  readonly #repairs = new ObjectBackoff(...REPAIR_MS)
  readonly #refusals = new ObjectBackoff(...REFUSED_MS)
  /** the last refusal of each object */
  readonly #refused = new Map<string, ApiRefused>()
  /** keys of objects that someone else changed or deleted */
  readonly #drifted = new Set<string>()
  /** uids of deleted objects that may still be terminating */
  readonly #deleted = new Set<string>()
  /** why the volume claim could not be changed */
  volumeRefusal: string | null = null

  constructor(options: ApplierOptions) {
    this.#options = options
  }

  get applied(): AppliedObject[] {
    return [...this.#applied.values()]
  }

  /** Progress for users: objects that someone else changes repeatedly; null: none. */
  get contention(): Progress | null {
    const keys = this.#repairs.repeated(CONTENTION_REPAIRS)
    if (keys.length === 0) return null
    const message = `Another program or user keeps changing objects of this deployment: ${keys.join(', ')}.`
    return { reason: 'CHANGED_BY_OTHERS', message }
  }

  forgetRefusals(): void {
    this.#refusals.forget()
  }

  /** True: an object differs from its last comparison. This avoids rendering when only pods change. */
  hasChanged(live: readonly LiveObject[]): boolean {
    const isKnown = (object: LiveObject) =>
      this.#applied.get(keyOf(object))?.resourceVersion === object.metadata.resourceVersion
    return live.length !== this.#applied.size || !live.every(isKnown)
  }

  /** Applies due manifests, Secrets first. `synced`: these manifests were applied before, so only drift is repaired. */
  async apply(manifests: readonly Manifest[], live: readonly LiveObject[], synced: boolean): Promise<void> {
    const byKey = new Map(live.map((object) => [keyOf(object), object]))
    const autoscaled = autoscaledKeys(manifests)
    const comparisonOf = (manifest: Manifest) => {
      const key = keyOf(manifest)
      return { manifest, key, live: byKey.get(key), autoscaled: autoscaled.has(key) }
    }
    const due = manifests.map(comparisonOf).filter((one) => this.#isDue(one, synced))
    for (const one of due) if (one.manifest.kind === 'Secret') await this.#apply(one)
    await allWritten(due.filter(({ manifest }) => manifest.kind !== 'Secret').map((one) => this.#apply(one)))
  }

  /** Deletes objects that are not among the manifests, if `mayPrune` allows it. */
  async prune(
    manifests: readonly Manifest[],
    live: readonly LiveObject[],
    mayPrune: (object: LiveObject) => boolean,
  ): Promise<void> {
    const desired = new Set(manifests.map(keyOf))
    for (const key of this.#applied.keys()) if (!desired.has(key)) this.#applied.delete(key)
    const { cluster, fence, signal } = this.#options
    const others = live.filter(
      (object) =>
        !desired.has(keyOf(object)) &&
        !object.metadata.deletionTimestamp &&
        !this.#deleted.has(object.metadata.uid) &&
        mayPrune(object),
    )
    for (const uid of this.#deleted) if (!live.some(({ metadata }) => metadata.uid === uid)) this.#deleted.delete(uid)
    await allWritten(
      others.map(async (object) => {
        if (signal.aborted) return
        await cluster.remove(object, fence)
        this.#deleted.add(object.metadata.uid)
      }),
    )
  }

  #isDue({ manifest, key, live, autoscaled }: Target, synced: boolean): boolean {
    const applied = this.#applied.get(key)
    this.#drifted.delete(key)
    // a change of an object that this process applied before is the user's own change
    if (!applied) return !live || !restartsStore(manifest) || this.#options.mayRestart()
    if (!synced && manifestDigest(manifest, autoscaled) !== applied.digest) return true
    if (live) return hasDrifted(applied, manifest, live) && this.#mayRepair(key, live)
    if (applied.observed) return this.#mayRepair(key, live)
    const left = applied.at + OBSERVED_BY_MS - performance.now()
    if (left > 0) this.#options.requeueAfter(left)
    return left <= 0
  }

  /** False: the repair must wait for its backoff. */
  #mayRepair(key: string, live: LiveObject | undefined): boolean {
    // a terminating object must be gone before it is recreated; the informers report that
    if (live?.metadata.deletionTimestamp) return false
    const wait = this.#repairs.wait(key)
    if (wait > 0) {
      this.#options.requeueAfter(wait)
      return false
    }
    this.#drifted.add(key)
    return true
  }

  async #apply({ manifest, key, live, autoscaled }: Target): Promise<void> {
    const { cluster, fence, signal, requeueAfter } = this.#options
    const [refusal, wait] = [this.#refused.get(key), this.#refusals.wait(key)]
    if (refusal && wait > 0) {
      requeueAfter(wait)
      throw refusal
    }
    if (signal.aborted) return
    try {
      this.#applied.set(key, appliedObject(manifest, await cluster.apply(manifest, fence), autoscaled))
      this.#refusals.forget(key)
      if (this.#drifted.delete(key)) this.#repaired(key)
      if (manifest.kind === VOLUME) this.volumeRefusal = null
    } catch (error) {
      if (error instanceof ApiRefused && manifest.kind === VOLUME && live && error.status !== 401) {
        this.volumeRefusal = error.message
        // retried with the next desired state
        this.#applied.set(key, { ...appliedObject(manifest, live, autoscaled), digest: '' })
        return
      }
      if (error instanceof ApiRefused) {
        this.#refusals.add(key)
        this.#refused.set(key, error)
      }
      if (error instanceof Contended) this.#repairs.add(key)
      throw error
    }
  }

  #repaired(key: string): void {
    const { log, deploymentId } = this.#options
    this.#repairs.add(key)
    log.info({ object: key, deploymentId }, 'Repaired an object that another program or user had changed or deleted')
  }
}

function restartsStore(manifest: Manifest): boolean {
  const { template } = (manifest.spec ?? {}) as { template?: unknown }
  return template !== undefined && ['database', 'cache'].includes(componentOf(manifest) ?? '')
}

interface Target {
  manifest: Manifest
  key: string
  live: LiveObject | undefined
  /** an autoscaler sets its replicas */
  autoscaled: boolean
}

/** Waits for all writes. Then throws a lost ownership first, else the first refusal. */
async function allWritten(writes: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(writes)
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const worst = [StaleError, LeaseOverError, ApiRefused].map((kind) => errors.find((error) => error instanceof kind))
  const error = worst.find(Boolean) ?? errors[0]
  if (error) throw error
}

/** Back-off for tries that concern one object each: repairs of drift, and requests that the API server refused. */
export class ObjectBackoff {
  readonly #tries = new Map<string, { count: number; last: number }>()
  readonly #first: number
  readonly #longest: number
  readonly #calm: number

  /** In ms: the first and longest wait, and the time without a try after which an object starts again. */
  constructor(first: number, longest: number, calm = Number.POSITIVE_INFINITY) {
    this.#first = first
    this.#longest = longest
    this.#calm = calm
  }

  /** ms until the next try for an object may run. */
  wait(key: string, now = performance.now()): number {
    const before = this.#recent(key, now)
    return before ? Math.max(0, before.last + backoff(before.count - 1, this.#first, this.#longest) - now) : 0
  }

  add(key: string, now = performance.now()): void {
    this.#tries.set(key, { count: (this.#recent(key, now)?.count ?? 0) + 1, last: now })
  }

  /** Keys of objects with at least this many recent tries. */
  repeated(count: number, now = performance.now()): string[] {
    return [...this.#tries.keys()].filter((key) => (this.#recent(key, now)?.count ?? 0) >= count)
  }

  /** Forgets one object, or all. */
  forget(key?: string): void {
    if (key === undefined) this.#tries.clear()
    else this.#tries.delete(key)
  }

  #recent(key: string, now: number): { count: number; last: number } | null {
    const before = this.#tries.get(key)
    return before && now - before.last <= this.#calm ? before : null
  }
}
