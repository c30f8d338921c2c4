/**
 * Keeps a deployment's objects as they are wished: applies what differs, removes what is not wished any more, and
 * does so again whenever the watch shows a difference. Level-based: there is one wish, and the last one wins.
 * Nothing is called while nothing changes.
 */
import type { Logger } from 'pino'
import type { Progress } from '../../../domain/work/protocol.ts'
import { backoff } from '../../backoff.ts'
import { StepFailure } from '../../failure.ts'
import { Alarm } from './alarm.ts'
import { type Applied, appliedAs, differs, digestOf, keyOf } from './applied.ts'
import { autoscaledOf } from './autoscaled.ts'
import type { Cluster, Fence } from './cluster/cluster.ts'
import { ApiRefused, Contended, LeaseOverError, NotNowError, StaleError, Unreachable } from './cluster/errors.ts'
import { REFUSED_MS, Refusals, reasonOfRefusal } from './refusals.ts'
import { Repairs } from './repairs.ts'
import { together } from './together.ts'
import type { LiveObject, Manifest } from './types.ts'

export interface Wish {
  /** done before each round; what it throws is the round's failure */
  prepare(): Promise<void>
  /** Everything that should be there, in order: Secrets are applied first. May throw StepFailure. */
  manifests(live: readonly LiveObject[]): Manifest[]
  /** whether an object of ours that is not among them may go now */
  mayGo(object: LiveObject): boolean
}

/** Why the wish is not in force. */
export interface Trouble extends Progress {
  /** trying the same again is not expected to help */
  refused: boolean
}

export interface KeeperOptions {
  cluster: Cluster
  deploymentId: string
  namespace: string
  fence: Fence
  log: Logger
  /** called when `inForce`, `trouble` or `ended` may have changed */
  onState: () => void
}

/** the watch should have shown a new object by then; otherwise it was removed between two looks */
const UNSEEN_MS = 10_000
const UNREACHABLE_MS = [250, 10_000] as const
const NOT_NOW_MS = 5000
const VOLUME = 'PersistentVolumeClaim'

export class Keeper {
  readonly #options: KeeperOptions
  readonly #stop = new AbortController()
  readonly #applied = new Map<string, Applied>()
  readonly #repairs = new Repairs()
  /** keys of what is due because somebody else changed or removed it */
  readonly #broken = new Set<string>()
  readonly #refusals = new Refusals()
  readonly #alarm = new Alarm(() => this.look())
  /** by uid: what was told to go */
  readonly #removed = new Set<string>()
  /** why the volume is left as it is */
  #volumeRefusal: string | null = null
  #wish: Wish | null = null
  #inForce: Wish | null = null
  #trouble: Trouble | null = null
  #failures = 0
  #dirty = false
  #running: Promise<void> | null = null
  /** no more writes are ours to make: another holder is newer, or the lease is over */
  ended: Error | null = null

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  /** The wish was carried out, wholly, at least once. */
  get inForce(): boolean {
    return this.#wish !== null && this.#inForce === this.#wish
  }

  /** Something is wished that is not in force yet, and may come into force without anybody's doing. */
  get busy(): boolean {
    return this.#wish !== null && !this.inForce && !this.ended && !this.#trouble?.refused
  }

  get trouble(): Trouble | null {
    return this.#trouble
  }

  /** Why the database's volume could not be changed. It is no trouble: the rest is carried out all the same. */
  get volumeRefusal(): string | null {
    return this.#volumeRefusal
  }

  /** For people: what somebody else changes again and again; null: nothing. */
  get fight(): Progress | null {
    return this.#repairs.fight()
  }

  /** What was applied. With the wish in force, exactly what is wished. */
  get applied(): Applied[] {
    return [...this.#applied.values()]
  }

  /** From now on this is wished. Carried out in a later tick, so that of several in one tick only the last counts. */
  want(wish: Wish): void {
    this.#wish = wish
    this.#trouble = null
    this.#failures = 0
    this.#refusals.forget()
    this.look()
  }

  /** Something has changed: compares, and acts if need be. */
  look(): void {
    if (!this.#wish || this.#dirty || this.ended || this.#stop.signal.aborted) return
    this.#dirty = true
    setImmediate(() => this.#start())
  }

  /** No more calls; resolves when the one under way is over. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.#alarm.clear()
    await this.#running
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null
      if (this.#dirty && !this.ended && !this.#stop.signal.aborted) this.#start()
    })
  }

  async #run(): Promise<void> {
    while (this.#dirty && this.#wish && !this.ended && !this.#stop.signal.aborted) {
      this.#dirty = false
      const wish = this.#wish
      try {
        await this.#round(wish)
        this.#inForce = wish
        this.#trouble = null
        this.#failures = 0
      } catch (error) {
        if (this.#stop.signal.aborted) return
        if (wish === this.#wish) this.#fail(error)
        else this.#dirty = true
      }
      this.#options.onState()
    }
  }

  async #round(wish: Wish): Promise<void> {
    const { cluster, deploymentId, namespace } = this.#options
    await cluster.open(namespace, this.#stop.signal)
    await wish.prepare()
    if (this.#stop.signal.aborted || wish !== this.#wish) return this.look()
    this.#alarm.clear()
    const live = cluster.objects(deploymentId)
    if (wish === this.#inForce && !this.#isNews(live)) return
    const manifests = wish.manifests(live)
    const byKey = new Map(live.map((object) => [keyOf(object), object]))
    const autoscaled = autoscaledOf(manifests)
    const due = manifests.filter((manifest) => this.#isDue(wish, manifest, byKey.get(keyOf(manifest)), autoscaled))
    const apply = (manifest: Manifest) =>
      this.#apply(manifest, byKey.get(keyOf(manifest)), autoscaled.has(keyOf(manifest)))
    for (const manifest of due) if (manifest.kind === 'Secret') await apply(manifest)
    await together(due.filter(({ kind }) => kind !== 'Secret').map(apply))
    if (wish === this.#wish) await this.#removeOthers(wish, manifests, live)
  }

  /** Whether anything is other than when it was last compared. Spares the rendering when only pods have changed. */
  #isNews(live: readonly LiveObject[]): boolean {
    const isKnown = (object: LiveObject) =>
      this.#applied.get(keyOf(object))?.resourceVersion === object.metadata.resourceVersion
    return live.length !== this.#applied.size || !live.every(isKnown)
  }

  async #apply(manifest: Manifest, live: LiveObject | undefined, autoscaled: boolean): Promise<void> {
    const key = keyOf(manifest)
    const pending = this.#refusals.pending(key)
    if (pending) {
      this.#lookIn(pending.ms)
      throw pending.error
    }
    if (this.#stop.signal.aborted) return
    try {
      this.#applied.set(
        key,
        appliedAs(manifest, await this.#options.cluster.apply(manifest, this.#options.fence), autoscaled),
      )
      this.#refusals.forget(key)
      if (this.#broken.delete(key)) this.#repaired(key)
      if (manifest.kind === VOLUME) this.#volumeRefusal = null
    } catch (error) {
      if (error instanceof ApiRefused && manifest.kind === VOLUME && live && error.status !== 401) {
        this.#volumeRefusal = error.message
        // tried again with the next wish
        this.#applied.set(key, { ...appliedAs(manifest, live, autoscaled), digest: '' })
        return
      }
      if (error instanceof ApiRefused) this.#refusals.add(key, error)
      if (error instanceof Contended) this.#repairs.made(key)
      throw error
    }
  }

  #isDue(wish: Wish, manifest: Manifest, live: LiveObject | undefined, autoscaled: Set<string>): boolean {
    const key = keyOf(manifest)
    const applied = this.#applied.get(key)
    this.#broken.delete(key)
    if (!applied) return true
    if (wish !== this.#inForce && digestOf(manifest, autoscaled.has(key)) !== applied.digest) return true
    if (live) return differs(applied, manifest, live, autoscaled.has(key)) && this.#mayRepair(key, live)
    if (applied.seen) return this.#mayRepair(key, live)
    const unseen = applied.at + UNSEEN_MS - performance.now()
    if (unseen > 0) this.#lookIn(unseen)
    return unseen <= 0
  }

  /** False: it has to wait, because there were so many. */
  #mayRepair(key: string, live: LiveObject | undefined): boolean {
    // it can't be made anew before it is gone, and the watch will tell
    if (live?.metadata.deletionTimestamp) return false
    const wait = this.#repairs.wait(key)
    if (wait > 0) {
      this.#lookIn(wait)
      return false
    }
    this.#broken.add(key)
    return true
  }

  #repaired(key: string): void {
    const { log, deploymentId } = this.#options
    this.#repairs.made(key)
    log.info({ object: key, deploymentId }, 'An object was changed or removed by somebody else, and was put right')
  }

  async #removeOthers(wish: Wish, manifests: Manifest[], live: readonly LiveObject[]): Promise<void> {
    const wanted = new Set(manifests.map(keyOf))
    for (const key of this.#applied.keys()) if (!wanted.has(key)) this.#applied.delete(key)
    const { cluster, fence } = this.#options
    const others = live.filter(
      (object) =>
        !wanted.has(keyOf(object)) &&
        !object.metadata.deletionTimestamp &&
        !this.#removed.has(object.metadata.uid) &&
        wish.mayGo(object),
    )
    for (const uid of this.#removed) if (!live.some(({ metadata }) => metadata.uid === uid)) this.#removed.delete(uid)
    await together(
      others.map(async (object) => {
        if (this.#stop.signal.aborted) return
        await cluster.remove(object, fence)
        this.#removed.add(object.metadata.uid)
      }),
    )
  }

  #fail(error: unknown): void {
    const { log, deploymentId } = this.#options
    const message = error instanceof Error ? error.message : String(error)
    if (error instanceof StaleError || error instanceof LeaseOverError) {
      this.ended = error
      log.warn({ err: error, deploymentId }, 'This deployment is not ours to write any more')
    } else if (error instanceof Unreachable) {
      const reason = error instanceof Contended ? 'CHANGED_BY_OTHERS' : 'CLUSTER_UNREACHABLE'
      this.#trouble = { reason, message, refused: false }
      this.#lookIn(error.retryAfterMs ?? backoff(this.#failures++, ...UNREACHABLE_MS))
    } else if (error instanceof NotNowError) {
      this.#trouble = { reason: 'ROLLING_OUT', message, refused: false }
      this.#lookIn(NOT_NOW_MS)
    } else {
      this.#trouble = { ...refusalOf(error), refused: true }
      if (this.#trouble.reason === 'INTERNAL') log.error({ err: error, deploymentId }, 'Manifests could not be applied')
      this.#lookIn(backoff(this.#failures++, ...REFUSED_MS))
    }
  }

  #lookIn(ms: number): void {
    if (!this.#stop.signal.aborted) this.#alarm.in(ms)
  }
}

function refusalOf(error: unknown): Progress {
  if (error instanceof ApiRefused) return { reason: reasonOfRefusal(error.message), message: error.message }
  if (error instanceof StepFailure) return { reason: error.reason, message: error.message }
  const message = 'Applying its manifests failed: the log of the listener has the cause.'
  return { reason: 'INTERNAL', message }
}
