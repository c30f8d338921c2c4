/**
 * One deployment that this process holds, in its namespace: what it should be, now (`run`) and while a step moves
 * it on, handed to the keeper as one wish. A deploy puts its candidate in force, and whatever ends it without
 * success puts back what serves.
 */
import type { Logger } from 'pino'
import type { EffectiveSpec, Health, Progress, Run } from '../../../domain/work/protocol.ts'
import { within } from '../../backoff.ts'
import { HIDES_NOTHING } from '../../mask.ts'
import { masking, nameUnhidden } from '../../masking.ts'
import type { Candidate, HeldClaim, OnProgress, RevisionLog, RevisionStep, TimedStep } from '../runtime.ts'
import { beforeDeadline } from './before-deadline.ts'
import { Bell } from './bell.ts'
import type { Cluster, Fence } from './cluster/cluster.ts'
import { digest } from './digest.ts'
import type { Follower } from './follower.ts'
import { healthOf } from './health.ts'
import { Keeper } from './keeper.ts'
import { Patience } from './patience.ts'
import { sourcesOf } from './pod-logs.ts'
import { requireImage, requireSecrets } from './preflight.ts'
import { reaching } from './reaching.ts'
import { customUrlOf, urlOf } from './render/address.ts'
import { imageVersion } from './render/image.ts'
import { type Rollout, rolledOut } from './rollout.ts'
import { applicationOf, markOfServing, maskedProgress, type Serving, servingAttempt, servingOf } from './serving.ts'
import type { Site } from './survey.ts'
import { openForTeardown, tearDown } from './teardown.ts'
import type { Owner, RenderOptions, VolumePolicy } from './types.ts'
import { volumeNote } from './volume.ts'
import { createWish, type Password } from './wish.ts'

/** What all deployments share. */
export interface Host {
  cluster: Cluster
  follower: Follower
  render: RenderOptions
  failAfterMs: number
  log: Logger
}

/** what serves is back in force by then, or goes on being put back in the background */
const RESTORE_MS = 10_000
/** a call under way is waited for so long when the deployment is given up */
const STOP_MS = 2000
const LONGEST_MESSAGE = 1000

export class Held {
  readonly token: string
  readonly #host: Host
  readonly #owner: Owner
  readonly #fence: Fence
  readonly #keeper: Keeper
  readonly #password: Password = { value: null }
  readonly #bell = new Bell()
  readonly #patience = new Patience()
  readonly #since = new Date()
  #provisioned: boolean
  #infrastructure: EffectiveSpec | null = null
  #base: Serving | null = null
  #candidate: Serving | null = null
  /** a step decides what is in force: `run` is only what to go back to */
  #stepping = false
  #digest = ''
  #stopped = false

  constructor(host: Host, claim: HeldClaim, namespace: string) {
    const { id, workspaceId, name, provisioned } = claim.deployment
    this.token = claim.token
    this.#host = host
    this.#owner = { deploymentId: id, workspaceId, name, namespace }
    this.#provisioned = provisioned
    this.#fence = { token: BigInt(claim.token), held: () => !this.#stopped && claim.held() }
    const { cluster, log } = host
    this.#keeper = new Keeper({
      cluster,
      deploymentId: id,
      namespace,
      fence: this.#fence,
      log,
      onState: () => this.#changed(),
    })
  }

  /** Something of it was seen changed in the cluster. */
  touched(): void {
    this.#keeper.look()
    this.#changed()
  }

  /** In a later tick, so that a step that begins in this one comes first. */
  ensure(run: Run | null, log: RevisionLog | null): void {
    const before = this.#base
    if (!run || !log) this.#base = null
    else if (before && before.run.revision.id === run.revision.id)
      this.#base = { ...servingOf(run, before.attempt, log), log: before.log }
    else this.#base = servingOf(run, null, log)
    if (run) {
      this.#provisioned = true
      if (!this.#stepping) this.#infrastructure = run.spec
    }
    setImmediate(() => {
      if (!this.#stepping) this.#renew()
    })
  }

  async provision(step: TimedStep, signal: AbortSignal, onProgress: OnProgress): Promise<void> {
    await this.#step(async () => {
      const deadlineAt = beforeDeadline(step)
      await reaching(signal, deadlineAt, onProgress, (inTime) => this.#host.cluster.open(this.#owner.namespace, inTime))
      this.#infrastructure = step.spec
      this.#renew()
      await this.#rolledOut({ deadlineAt, onProgress, onWaiting: () => undefined }, signal)
      this.#provisioned = true
    })
  }

  async deploy(step: RevisionStep, log: RevisionLog, signal: AbortSignal, onProgress: OnProgress): Promise<Candidate> {
    const { revision, spec, secretReferences, customUrl } = step
    const candidate = servingOf({ revision, spec, secretReferences, customUrl }, revision.attempt, log)
    const settle = async () => {
      this.#stepping = false
      this.#base = candidate
      this.#candidate = null
      this.#renew()
    }
    const tell = (reason: string) => log.write('deploy', reason, 'error')
    return masking(candidate.mask, tell, async () => {
      this.#stepping = true
      try {
        await this.#rollOut(candidate, step, signal, maskedProgress(candidate.mask, onProgress))
      } catch (error) {
        await this.#restore()
        throw error
      }
      const version = imageVersion(revision.imageUri ?? '')
      return {
        url: urlOf(this.#owner, customUrlOf({ revision, customUrl }), this.#host.render),
        ...(version === undefined ? {} : { imageVersion: version }),
        commit: async (record) => {
          const recorded = await record().catch(async (error) => {
            await this.#restore()
            throw error
          })
          await (recorded ? settle() : this.#restore())
        },
        discard: () => this.#restore(),
      }
    })
  }

  async #rollOut(candidate: Serving, step: RevisionStep, signal: AbortSignal, onProgress: OnProgress): Promise<void> {
    const { cluster } = this.#host
    const { namespace } = this.#owner
    const deadlineAt = beforeDeadline(step)
    const note = (message: string) => candidate.log.write('deploy', candidate.mask(message))
    nameUnhidden(step.revision.secrets, candidate.log, 'deploy')
    requireImage(step.revision)
    await reaching(signal, deadlineAt, onProgress, async (inTime) => {
      await cluster.open(namespace, inTime)
      await requireSecrets(cluster, namespace, step)
    })
    note(`Rolling out ${step.revision.imageUri}`)
    this.#candidate = candidate
    this.#infrastructure = step.spec
    this.#resolveBase()
    this.#renew()
    await this.#rolledOut({ deadlineAt, onProgress, onWaiting: note }, signal)
    note('All replicas are ready')
    const volume = this.#volumeNote()
    if (volume) candidate.log.write('deploy', candidate.mask(volume.message), 'warning')
  }

  /** Repeatable. Afterwards nothing is kept here any more. */
  async teardown(step: TimedStep, volumePolicy: VolumePolicy, signal: AbortSignal): Promise<void> {
    const { cluster } = this.#host
    const { deploymentId, namespace } = this.#owner
    const deadlineAt = beforeDeadline(step)
    this.#stepping = true
    const opened = await openForTeardown(cluster, namespace, this.#provisioned, deadlineAt, signal)
    if (!opened) return
    await this.#keeper.stop()
    const unseen = this.#keeper.applied.filter(({ seen }) => !seen).map(({ object }) => object)
    await tearDown(
      { cluster, deploymentId, namespace, fence: this.#fence, volumePolicy, unseen, bell: this.#bell, deadlineAt },
      signal,
    )
  }

  get health(): Health | undefined {
    const serving = this.#candidate ?? this.#base
    if (!serving) return undefined
    const { reason, message, ...counts } = healthOf({
      ...this.#site(),
      mark: markOfServing(serving),
      wanted: serving.run.spec.min_scale,
      patience: this.#patience,
      note: this.#keeper.fight ?? this.#volumeNote(),
    })
    return { ...counts, reason: reason ?? null, message: message && serving.mask(message).slice(0, LONGEST_MESSAGE) }
  }

  #site(): Site {
    const { cluster, failAfterMs } = this.#host
    const { deploymentId, namespace } = this.#owner
    return { cluster, deploymentId, namespace, keeper: this.#keeper, failAfterMs }
  }

  #volumeNote(): Progress | null {
    if (!this.#infrastructure) return null
    const objects = this.#host.cluster.objects(this.#owner.deploymentId)
    return volumeNote(this.#infrastructure.db_storage_gi, objects, this.#keeper.volumeRefusal)
  }

  /** Nothing of the cluster is touched or looked at any more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#host.follower.set(this.#owner.deploymentId, [])
    await within(STOP_MS, this.#keeper.stop())
  }

  /** While it runs, `run` is not acted upon. */
  async #step(work: () => Promise<void>): Promise<void> {
    this.#stepping = true
    try {
      await work()
    } finally {
      this.#stepping = false
    }
  }

  #rolledOut(until: Pick<Rollout, 'deadlineAt' | 'onProgress' | 'onWaiting'>, signal: AbortSignal): Promise<void> {
    const { mask } = this.#candidate ?? this.#base ?? { mask: HIDES_NOTHING }
    return rolledOut({ ...this.#site(), ...until, bell: this.#bell, mask }, signal)
  }

  /** Puts back what serves; resolves when that is in force, or goes on in the background after a while. */
  async #restore(): Promise<void> {
    this.#resolveBase()
    this.#candidate = null
    this.#stepping = false
    if (this.#base) this.#infrastructure = this.#base.run.spec
    if (this.#stopped) return
    this.#renew()
    const until = performance.now() + RESTORE_MS
    while (!this.#stopped && this.#keeper.busy && performance.now() < until)
      await this.#bell.wait(until - performance.now())
  }

  /** Only when the namespace is open: before, nobody knows what serves there. */
  #resolveBase(): void {
    const base = this.#base
    if (!base || base.attempt !== null) return
    const { cluster } = this.#host
    const { deploymentId } = this.#owner
    const candidate = this.#candidate && markOfServing(this.#candidate)
    const [objects, pods] = [cluster.objects(deploymentId), cluster.pods(deploymentId)]
    base.attempt = servingAttempt(base.run, deploymentId, objects, pods, candidate)
  }

  /** Tells the keeper what is wished now, if that is news. */
  #renew(): void {
    if (this.#stopped) return
    const serving = this.#candidate ?? this.#base
    if (!serving && !this.#infrastructure && !this.#provisioned) return
    const wished = digest(
      JSON.stringify([this.#infrastructure, serving?.run, serving?.attempt, this.#candidate !== null]),
    )
    if (wished === this.#digest) return
    this.#digest = wished
    const infrastructure = this.#infrastructure
    const keepOthers = this.#candidate !== null
    this.#keeper.want(
      createWish(this.#host, this.#owner, this.#password, {
        infrastructure,
        application: () => {
          if (serving === this.#base) this.#resolveBase()
          return serving && applicationOf(serving)
        },
        keepOthers,
      }),
    )
    this.#changed()
  }

  #changed(): void {
    this.#bell.ring()
    if (this.#stopped) return
    const { cluster, follower } = this.#host
    const { deploymentId } = this.#owner
    const logged = [this.#candidate, this.#base].flatMap((serving) => {
      const mark = serving && markOfServing(serving)
      return mark ? [{ mark, log: serving.log, hide: serving.hide }] : []
    })
    follower.set(deploymentId, sourcesOf(cluster.pods(deploymentId), logged, this.#since))
  }
}
