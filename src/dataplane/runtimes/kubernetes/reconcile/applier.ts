/**
 * Applies the manifests of one deployment that differ from what is there, and prunes what is not desired any more. Keeps
 * record of what was applied, by which drift is detected, and paces repairs and what the API server refused.
 */
import type { Logger } from 'pino'
import type { Progress } from '../../../../domain/protocol/protocol.ts'
import { ApiRefused, Contended, LeaseOverError, StaleError } from '../api-server/errors.ts'
import type { Cluster, Fence } from '../cluster/cluster.ts'
import { componentOf } from '../objects/labels.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import { type AppliedObject, appliedObject, autoscaledKeys, hasDrifted, keyOf, manifestDigest } from './drift.ts'
import { RefusalBackoff } from './refusal-backoff.ts'
import { RepairBackoff } from './repair-backoff.ts'

export interface ApplierOptions {
  cluster: Cluster
  deploymentId: string
  fence: Fence
  log: Logger
  /** aborted: nothing more is written */
  signal: AbortSignal
  /** Whether database and cache may restart now, since what was rendered here may differ from what is there. False: asked again later. */
  mayRestart: () => boolean
  /** asks to be called again in so many ms at the latest */
  requeueAfter: (ms: number) => void
}

/** the informers should have shown a new object by then; otherwise it was removed between two looks */
const OBSERVED_BY_MS = 10_000
const VOLUME = 'PersistentVolumeClaim'

export class Applier {
  readonly #options: ApplierOptions
  readonly #applied = new Map<string, AppliedObject>()
  readonly #repairs = new RepairBackoff()
  readonly #refusals = new RefusalBackoff()
  /** keys of what is to be applied because somebody else changed or removed it */
  readonly #drifted = new Set<string>()
  /** by uid: what was deleted here and may not be gone yet */
  readonly #deleted = new Set<string>()
  /** why the volume is left as it is */
  volumeRefusal: string | null = null

  constructor(options: ApplierOptions) {
    this.#options = options
  }

  get applied(): AppliedObject[] {
    return [...this.#applied.values()]
  }

  /** For people: what somebody else changes again and again; null: nothing. */
  get contention(): Progress | null {
    return this.#repairs.contention()
  }

  /** What was refused is tried again at once. */
  forgetRefusals(): void {
    this.#refusals.forget()
  }

  /** Whether anything is other than when it was last compared. Spares the rendering when only pods have changed. */
  hasChanged(live: readonly LiveObject[]): boolean {
    const isKnown = (object: LiveObject) =>
      this.#applied.get(keyOf(object))?.resourceVersion === object.metadata.resourceVersion
    return live.length !== this.#applied.size || !live.every(isKnown)
  }

  /** Applies what is due, Secrets first. `synced`: these manifests were applied before, so only drift is due. */
  async apply(manifests: readonly Manifest[], live: readonly LiveObject[], synced: boolean): Promise<void> {
    const byKey = new Map(live.map((object) => [keyOf(object), object]))
    const autoscaled = autoscaledKeys(manifests)
    const of = (manifest: Manifest) => {
      const key = keyOf(manifest)
      return { manifest, key, live: byKey.get(key), autoscaled: autoscaled.has(key) }
    }
    const due = manifests.map(of).filter((one) => this.#isDue(one, synced))
    for (const one of due) if (one.manifest.kind === 'Secret') await this.#apply(one)
    await allWritten(due.filter(({ manifest }) => manifest.kind !== 'Secret').map((one) => this.#apply(one)))
  }

  /** Removes what is there, is not among the manifests and `mayPrune`. */
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
    // what was applied here before, and is changed now, was changed for the deployment itself
    if (!applied) return !live || !restartsStore(manifest) || this.#options.mayRestart()
    if (!synced && manifestDigest(manifest, autoscaled) !== applied.digest) return true
    if (live) return hasDrifted(applied, manifest, live, autoscaled) && this.#mayRepair(key, live)
    if (applied.observed) return this.#mayRepair(key, live)
    const left = applied.at + OBSERVED_BY_MS - performance.now()
    if (left > 0) this.#options.requeueAfter(left)
    return left <= 0
  }

  /** False: it has to wait, because there were so many. */
  #mayRepair(key: string, live: LiveObject | undefined): boolean {
    // it can't be made anew before it is gone, and the informers will show that
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
    const pending = this.#refusals.pending(key)
    if (pending) {
      requeueAfter(pending.ms)
      throw pending.error
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
        // tried again with the next desired state
        this.#applied.set(key, { ...appliedObject(manifest, live, autoscaled), digest: '' })
        return
      }
      if (error instanceof ApiRefused) this.#refusals.add(key, error)
      if (error instanceof Contended) this.#repairs.add(key)
      throw error
    }
  }

  #repaired(key: string): void {
    const { log, deploymentId } = this.#options
    this.#repairs.add(key)
    log.info({ object: key, deploymentId }, 'An object was changed or removed by somebody else, and was put right')
  }
}

/** A workload that does not serve while its pod is replaced. */
function restartsStore(manifest: Manifest): boolean {
  const { template } = (manifest.spec ?? {}) as { template?: unknown }
  return template !== undefined && ['database', 'cache'].includes(componentOf(manifest) ?? '')
}

/** A manifest and the object that it is about. */
interface Target {
  manifest: Manifest
  key: string
  live: LiveObject | undefined
  /** an autoscaler decides its replicas */
  autoscaled: boolean
}

/** Waits for all, also when one fails; then throws what matters most: that we must not write, else the first refusal. */
async function allWritten(writes: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(writes)
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const worst = [StaleError, LeaseOverError, ApiRefused].map((kind) => errors.find((error) => error instanceof kind))
  const error = worst.find(Boolean) ?? errors[0]
  if (error) throw error
}
