/**
 * Controller of one claimed deployment: gives the reconciler one desired state, from `run` or from the running step.
 * A deploy makes its candidate the desired state, and a failure restores the active revision. See ../README.md.
 */
import { isIPv6 } from 'node:net'
import type { V1ServiceSpec } from '@kubernetes/client-node'
import type { AgentRestart, Health, Run } from '../../../domain/protocol/protocol.ts'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import { EMPTY_MASK, maskFailures, warnOfShortSecrets } from '../../output/mask.ts'
import { imageOf, imageVersion } from '../../runtimes/artifact.ts'
import type {
  Candidate,
  LeasedClaim,
  OnProgress,
  RevisionLog,
  RevisionStep,
  TimedStep,
} from '../../runtimes/runtime.ts'
import type { Fence } from '../cluster/fencing.ts'
import { namesOf } from '../objects/names.ts'
import type { DeploymentRef, VolumePolicy } from '../objects/types.ts'
import { createDesiredState, type DatabasePassword } from '../reconcile/desired-state.ts'
import { digest } from '../reconcile/drift.ts'
import { Reconciler } from '../reconcile/reconciler.ts'
import { KeptVolumeNote } from '../reconcile/replaced-infrastructure.ts'
import { externalOf, type InfrastructureConfig, infrastructureConfigOf } from '../render/external.ts'
import { customUrlOf, urlOf } from '../render/public-route.ts'
import { defaultsNote } from '../render/resources.ts'
import { databaseUri } from '../render/secrets.ts'
import { requireWithin } from '../render/security.ts'
import { AgentRestarts } from '../rollout/agent-restarts.ts'
import { refusedRoute } from '../rollout/endpoints.ts'
import { healthOf } from '../rollout/health.ts'
import { infrastructureRestarts } from '../rollout/infrastructure-restarts.ts'
import { GracePeriods } from '../rollout/problem.ts'
import { type RolloutContext, rolloutStatus } from '../rollout/rollout-status.ts'
import { type Rollout, waitForRollout } from '../rollout/wait-for-rollout.ts'
import type { ControllerContext } from './controller-context.ts'
import { logSourcesOf } from './log-sources.ts'
import { requireImage, requireSecrets } from './preflight.ts'
import {
  applicationOf,
  concessionControlOf,
  maskedProgress,
  podsOf,
  type ServedRevision,
  ServedRevisions,
  servedRevision,
} from './served-revision.ts'
import { ownDeadline, untilReached } from './step-deadline.ts'
import { openForTeardown, tearDown } from './teardown.ts'

/** ms to wait for the restored revision; the restore then continues in the background */
const RESTORE_WAIT_MS = 10_000
/** ms to wait for a running call when the deployment is dropped */
const STOP_WAIT_MS = 2000
const MAX_MESSAGE_CHARACTERS = 1000

export class DeploymentController {
  readonly token: string
  readonly #context: ControllerContext
  readonly #deployment: DeploymentRef
  readonly #fence: Fence
  readonly #reconciler: Reconciler
  readonly #password: DatabasePassword = { value: null }
  readonly #gracePeriods = new GracePeriods()
  readonly #agentRestarts: AgentRestarts
  readonly #since = new Date()
  #provisioned: boolean
  #infrastructure: InfrastructureConfig | null = null
  readonly #keptVolume = new KeptVolumeNote()
  readonly #revisions = new ServedRevisions()
  /** true: a step sets the desired state instead of `run` */
  #stepping = false
  #stepSpan: TimedStep['span']
  #digest = ''
  /** restart of the desired state; undefined: none */
  #restart: { at: string; done: boolean } | undefined
  #stopped = false

  constructor(context: ControllerContext, claim: LeasedClaim, namespace: string) {
    const { id, workspaceId, name, addressName, provisioned } = claim.deployment
    this.token = claim.token
    this.#context = context
    this.#deployment = { deploymentId: id, workspaceId, name, addressName, namespace }
    this.#provisioned = provisioned
    this.#fence = {
      token: BigInt(claim.token),
      leaseValid: () => !this.#stopped && claim.leaseValid(),
      span: () => (this.#stepping ? this.#stepSpan : undefined),
    }
    const { cluster, log, restarts } = context
    this.#agentRestarts = new AgentRestarts(cluster)
    const rounds = infrastructureRestarts(
      restarts,
      () => this.#rolloutContext(),
      () => this.#changed(),
    )
    // restarts during a step are the user's own change
    const mayRestart = () => this.#stepping || rounds.mayRestart()
    this.#reconciler = new Reconciler({
      cluster,
      deploymentId: id,
      namespace,
      fence: this.#fence,
      log,
      ...rounds,
      mayRestart,
    })
  }

  onObjectChange(): void {
    this.#agentRestarts.observe(this.#context.cluster.pods(this.#deployment.deploymentId))
    this.#reconciler.enqueue()
    this.#endRestore()
    this.#changed()
  }

  /** Applies in a later tick, so that a step that starts in this tick takes precedence. */
  ensure(run: Run | null, log: RevisionLog | null): void {
    this.#revisions.setActive(run, log)
    if (run) {
      this.#provisioned = true
      if (!this.#stepping) this.#infrastructure = infrastructureConfigOf(run)
    }
    setImmediate(() => {
      if (!this.#stepping) this.#updateDesired()
    })
  }

  async provision(step: TimedStep, signal: AbortSignal, onProgress: OnProgress): Promise<void> {
    this.#begin(step)
    try {
      const deadline = ownDeadline(step)
      const { cluster } = this.#context
      await untilReached(signal, deadline, onProgress, (inTime) => cluster.open(this.#deployment.namespace, inTime))
      this.#infrastructure = infrastructureConfigOf(step)
      this.#updateDesired()
      await this.#waitForRollout({ deadline, onProgress, onWaiting: () => undefined }, signal)
      this.#provisioned = true
    } finally {
      this.#stepping = false
    }
  }

  async deploy(step: RevisionStep, log: RevisionLog, signal: AbortSignal, onProgress: OnProgress): Promise<Candidate> {
    const { revision, spec, secretReferences, customUrl } = step
    const candidate = servedRevision({ revision, spec, secretReferences, customUrl }, revision.attempt, log)
    const activate = () => {
      this.#stepping = false
      candidate.concessions = null
      this.#revisions.active = candidate
      this.#revisions.candidate = null
      this.#updateDesired()
    }
    const logReason = (reason: string) => log.write('deploy', reason, 'error')
    return maskFailures(candidate.mask, logReason, async () => {
      this.#begin(step)
      try {
        await this.#rollOut(candidate, step, signal, maskedProgress(candidate.mask, onProgress))
      } catch (error) {
        await this.#restore()
        throw error
      }
      const version = imageVersion(imageOf(revision) ?? '')
      return {
        url: urlOf(this.#deployment, customUrlOf({ revision, customUrl }), this.#context.render),
        ...(version === undefined ? {} : { imageVersion: version }),
        commit: async (record) => {
          const recorded = await record().catch(async (error) => {
            await this.#restore()
            throw error
          })
          if (recorded) activate()
          else await this.#restore()
        },
        discard: () => this.#restore(),
      }
    })
  }

  /** Repeatable. Leaves no state in the controller. */
  async teardown(step: TimedStep, volumePolicy: VolumePolicy, signal: AbortSignal): Promise<void> {
    const { cluster, changes } = this.#context
    const { deploymentId, namespace } = this.#deployment
    const deadline = ownDeadline(step)
    this.#begin(step)
    const opened = await openForTeardown(cluster, namespace, this.#provisioned, deadline, signal)
    if (!opened) return
    this.#context.restarts.end(deploymentId)
    await this.#reconciler.stop()
    const unobserved = this.#reconciler.applied.filter(({ observed }) => !observed).map(({ object }) => object)
    await tearDown(
      { cluster, deploymentId, namespace, fence: this.#fence, volumePolicy, unobserved, changes, deadline },
      signal,
    )
  }

  get health(): Health | undefined {
    const served = this.#revisions.current
    if (!served) return undefined
    const { reason, message, ...counts } = healthOf({
      ...this.#rolloutContext(),
      attempt: podsOf(served),
      minReplicas: served.run.spec.min_scale,
      gracePeriods: this.#gracePeriods,
      note:
        this.#context.queues.problem(this.#deployment.deploymentId) ??
        this.#reconciler.contention ??
        refusedRoute(this.#context.cluster.objects(this.#deployment.deploymentId)) ??
        this.#reconciler.databaseNote(this.#infrastructure) ??
        this.#reconciler.leftOut,
    })
    return {
      ...counts,
      reason: reason ?? null,
      message: message && served.mask(message).slice(0, MAX_MESSAGE_CHARACTERS),
      ...(this.#isRestarted() ? { restartedAt: this.#restart!.at } : {}),
    }
  }

  get namespace(): string {
    return this.#deployment.namespace
  }

  /** The serving revision, and the address of its database for Pilothouse's pods. Null: nothing serves, or it has an external database. */
  get queue(): { revisionId: string; uri: () => string | null } | null {
    const run = this.#revisions.active?.run
    if (!run || externalOf(run.secretReferences).database) return null
    return { revisionId: run.revision.id, uri: () => this.#databaseUri() }
  }

  /** Restarts of its agents, with secrets masked. */
  get restarts(): AgentRestart[] {
    const mask = this.#revisions.current?.mask ?? EMPTY_MASK
    return this.#agentRestarts.recent.map((restart) => ({ ...restart, message: mask(restart.message) }))
  }

  /** The address of the active revision, once its objects are applied: settings or a new name may have changed it. */
  get url(): string | undefined {
    const { active } = this.#revisions
    if (!active || this.#stepping || !this.#reconciler.synced) return undefined
    return urlOf(this.#deployment, customUrlOf(active.run), this.#context.render)
  }

  /** By the address of its Service: no name is resolved. */
  #databaseUri(): string | null {
    const { deploymentId, namespace } = this.#deployment
    const ref = { apiVersion: 'v1', kind: 'Service', namespace, name: namesOf(deploymentId).database }
    const { clusterIP } = (this.#context.cluster.observed(ref)?.spec ?? {}) as V1ServiceSpec
    const password = this.#password.value
    if (!clusterIP || password === null) return null
    return databaseUri(isIPv6(clusterIP) ? `[${clusterIP}]` : clusterIP, password)
  }

  /** True once all pods were of the restart. */
  #isRestarted(): boolean {
    if (!this.#restart) return false
    this.#restart.done ||= rolloutStatus(this.#rolloutContext()).done
    return this.#restart.done
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#context.restarts.end(this.#deployment.deploymentId)
    this.#context.follower.set(this.#deployment.deploymentId, [])
    await resultWithin(STOP_WAIT_MS, this.#reconciler.stop())
  }

  #begin({ span }: TimedStep): void {
    this.#stepping = true
    this.#stepSpan = span
  }

  async #rollOut(
    candidate: ServedRevision,
    step: RevisionStep,
    signal: AbortSignal,
    onProgress: OnProgress,
  ): Promise<void> {
    const { cluster } = this.#context
    const { namespace } = this.#deployment
    const deadline = ownDeadline(step)
    const note = (message: string) => candidate.log.write('deploy', candidate.mask(message))
    warnOfShortSecrets(step.revision.secrets, candidate.log, 'deploy')
    requireImage(step.revision)
    step.phase?.('check the namespace')
    requireWithin(this.#context.render.podSecurity, step.spec)
    await untilReached(signal, deadline, onProgress, async (inTime) => {
      await cluster.open(namespace, inTime)
      await requireSecrets(cluster, namespace, step)
    })
    note(`Rolling out ${imageOf(step.revision)}`)
    step.phase?.('apply')
    const byDefault = defaultsNote(step, this.#context.render.defaults)
    if (byDefault) note(byDefault)
    this.#revisions.candidate = candidate
    this.#infrastructure = infrastructureConfigOf(step)
    this.#findActiveAttempt()
    this.#updateDesired()
    const concessionControl = concessionControlOf(candidate, () => this.#updateDesired())
    await this.#waitForRollout({ deadline, onProgress, onWaiting: note, concessionControl }, signal)
    note('All replicas are ready')
    const database = this.#reconciler.databaseNote(this.#infrastructure)
    if (database) candidate.log.write('deploy', candidate.mask(database.message), 'warning')
  }

  #waitForRollout(
    options: Pick<Rollout, 'deadline' | 'onProgress' | 'onWaiting' | 'concessionControl'>,
    signal: AbortSignal,
  ): Promise<void> {
    const mask = this.#revisions.current?.mask ?? EMPTY_MASK
    return waitForRollout({ ...this.#rolloutContext(), ...options, changes: this.#context.changes, mask }, signal)
  }

  #rolloutContext(): RolloutContext {
    const { cluster, failAfterMs } = this.#context
    const { deploymentId, namespace } = this.#deployment
    return { cluster, deploymentId, namespace, reconciler: this.#reconciler, failAfterMs }
  }

  /** Restores the active revision. After RESTORE_WAIT_MS it continues in the background. */
  async #restore(): Promise<void> {
    this.#findActiveAttempt()
    const { active, candidate } = this.#revisions
    // the quota has no room for both revisions: restored pods replace the candidate's pods
    if (active && candidate?.concessions) active.concessions = { inPlace: ['server', 'queue'], queueReplicas: null }
    this.#revisions.candidate = null
    this.#stepping = false
    if (active) this.#infrastructure = infrastructureConfigOf(active.run)
    if (this.#stopped) return
    this.#updateDesired()
    const { changes } = this.#context
    const { deploymentId } = this.#deployment
    const until = performance.now() + RESTORE_WAIT_MS
    while (!this.#stopped && this.#reconciler.progressing && performance.now() < until)
      await changes.wait(deploymentId, changes.mark(deploymentId), until - performance.now())
  }

  /** Ends the quota concessions of a restore when the restored revision is ready. */
  #endRestore(): void {
    const { active } = this.#revisions
    if (!active?.concessions || this.#stepping || !rolloutStatus(this.#rolloutContext()).done) return
    active.concessions = null
    this.#updateDesired()
  }

  /** Needs an open namespace: before that, the serving attempt is unknown. */
  #findActiveAttempt(): void {
    this.#revisions.findActiveAttempt(this.#context.cluster, this.#deployment.deploymentId)
  }

  /** Gives the reconciler the desired state if it has changed. */
  #updateDesired(): void {
    if (this.#stopped) return
    const { current: served, candidate } = this.#revisions
    const infrastructure = this.#infrastructure
    if (!served && !infrastructure && !this.#provisioned) return
    const keepOthers = candidate !== null
    const desired = digest(
      JSON.stringify([infrastructure, served?.run, served?.attempt, served?.concessions, keepOthers]),
    )
    if (desired === this.#digest) return
    this.#digest = desired
    const restartedAt = served?.run.restartedAt
    if (restartedAt !== this.#restart?.at) this.#restart = restartedAt ? { at: restartedAt, done: false } : undefined
    const { cluster } = this.#context
    this.#keptVolume.tell(infrastructure, cluster.objects(this.#deployment.deploymentId), served?.log)
    const application = () => {
      if (served === this.#revisions.active) this.#findActiveAttempt()
      return served && applicationOf(served)
    }
    this.#reconciler.setDesired(
      createDesiredState(this.#context, this.#deployment, this.#password, { infrastructure, application, keepOthers }),
    )
    this.#changed()
  }

  #changed(): void {
    const { cluster, follower, changes } = this.#context
    const { deploymentId } = this.#deployment
    changes.notify(deploymentId)
    if (this.#stopped) return
    follower.set(deploymentId, logSourcesOf(cluster.pods(deploymentId), this.#revisions.followed, this.#since))
  }
}
