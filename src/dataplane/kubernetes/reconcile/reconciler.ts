/** Level-based reconciler of one deployment: reaches the latest desired state and repairs drift. See README.md. */
import type { Logger } from 'pino'
import type { Progress } from '../../../domain/protocol/protocol.ts'
import { backoff } from '../../../platform/async/retry.ts'
import { WorkQueue } from '../../../platform/async/work-queue.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { ApiRefused, Contended, LeaseOverError, NotNowError, StaleError, Unreachable } from '../api-server/errors.ts'
import { reasonOfRefusal } from '../api-server/messages.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Fence } from '../cluster/fencing.ts'
import type { InfrastructureConfig } from '../render/external.ts'
import { Applier, REFUSED_MS } from './applier.ts'
import { volumeNote } from './database-volume.ts'
import type { DesiredState } from './desired-state.ts'
import type { AppliedObject } from './drift.ts'

interface ReconcileFailure extends Progress {
  /** a retry is not expected to help */
  refused: boolean
}

interface ReconcilerOptions {
  cluster: Cluster
  deploymentId: string
  namespace: string
  fence: Fence
  log: Logger
  mayRestart: () => boolean
  /** called after each round, when `synced`, `failure` or `ownershipLost` may have changed */
  onState: () => void
}

const UNREACHABLE_MS = [250, 10_000] as const
const NOT_NOW_MS = 5000

export class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #queue = new WorkQueue(() => this.#run())
  readonly #applier: Applier
  #desired: DesiredState | null = null
  #reached: DesiredState | null = null
  /** kinds that were unavailable in the last round */
  #refused = ''
  #failure: ReconcileFailure | null = null
  #failures = 0
  /** set when this process may no longer write: a newer holder exists, or the lease has expired */
  ownershipLost: Error | null = null

  constructor(options: ReconcilerOptions) {
    this.#options = options
    const { signal } = this.#queue
    this.#applier = new Applier({ ...options, signal, requeueAfter: (ms) => this.#queue.requeueAfter(ms) })
  }

  /** True: the current desired state was fully reached at least once. */
  get synced(): boolean {
    return this.#desired !== null && this.#reached === this.#desired
  }

  /** True: the desired state is not reached yet, but may be without a change by a user. */
  get progressing(): boolean {
    return this.#desired !== null && !this.synced && !this.ownershipLost && !this.#failure?.refused
  }

  get failure(): ReconcileFailure | null {
    return this.#failure
  }

  get volumeRefusal(): string | null {
    return this.#applier.volumeRefusal
  }

  /** Progress for users: the database differs from its spec; null: it does not. */
  databaseNote(config: InfrastructureConfig | null): Progress | null {
    const { cluster, deploymentId } = this.#options
    return this.#desired?.databaseNote() ?? volumeNote(config, cluster.objects(deploymentId), this.volumeRefusal)
  }

  /** Progress for users: objects left out for missing permissions; null: none. */
  get leftOut(): Progress | null {
    return this.#desired?.leftOut() ?? null
  }

  get contention(): Progress | null {
    return this.#applier.contention
  }

  /** The applied objects. When synced, exactly the desired objects. */
  get applied(): AppliedObject[] {
    return this.#applier.applied
  }

  /** Runs in a later tick. Only the last state of a tick counts. */
  setDesired(desired: DesiredState): void {
    this.#desired = desired
    this.#failure = null
    this.#failures = 0
    this.#applier.forgetRefusals()
    this.enqueue()
  }

  /** Requests a round, which compares and acts on differences. */
  enqueue(): void {
    if (this.#desired) this.#queue.enqueue()
  }

  /** Stops. Resolves when the running call has ended. */
  stop(): Promise<void> {
    return this.#queue.stop()
  }

  async #run(): Promise<void> {
    const desired = this.#desired!
    try {
      await this.#reconcile(desired)
      this.#reached = desired
      this.#failure = null
      this.#failures = 0
    } catch (error) {
      if (this.#queue.signal.aborted) return
      if (desired === this.#desired) this.#fail(error)
      else this.enqueue()
    }
    this.#options.onState()
  }

  async #reconcile(desired: DesiredState): Promise<void> {
    const { cluster, deploymentId, namespace } = this.#options
    await cluster.open(namespace, this.#queue.signal)
    await desired.prepare()
    if (desired !== this.#desired) return this.enqueue()
    if (this.#queue.signal.aborted) return
    const live = cluster.objects(deploymentId)
    const refused = desired.refused()
    const synced = this.synced && refused === this.#refused
    if (synced && !this.#applier.hasChanged(live)) return
    const manifests = desired.manifests(live)
    await this.#applier.apply(manifests, live, synced)
    this.#refused = refused
    if (desired === this.#desired) await this.#applier.prune(manifests, live, (object) => desired.mayPrune(object))
  }

  #fail(error: unknown): void {
    const { log, deploymentId } = this.#options
    const message = error instanceof Error ? error.message : String(error)
    if (error instanceof StaleError || error instanceof LeaseOverError) {
      this.ownershipLost = error
      void this.#queue.stop()
      log.warn(
        { err: error, deploymentId },
        'Stopped writing a deployment: a newer holder has it, or the lease has expired',
      )
    } else if (error instanceof Unreachable) {
      const reason = error instanceof Contended ? 'CHANGED_BY_OTHERS' : 'CLUSTER_UNREACHABLE'
      this.#failure = { reason, message, refused: false }
      this.#queue.requeueAfter(error.retryAfterMs ?? backoff(this.#failures++, ...UNREACHABLE_MS))
    } else if (error instanceof NotNowError) {
      this.#failure = { reason: 'ROLLING_OUT', message, refused: false }
      this.#queue.requeueAfter(NOT_NOW_MS)
    } else {
      this.#failure = { ...refusalOf(error), refused: true }
      if (this.#failure.reason === 'INTERNAL') log.error({ err: error, deploymentId }, 'Manifests could not be applied')
      this.#queue.requeueAfter(backoff(this.#failures++, ...REFUSED_MS))
    }
  }
}

function refusalOf(error: unknown): Progress {
  if (error instanceof ApiRefused) return { reason: reasonOfRefusal(error.message), message: error.message }
  if (error instanceof StepFailure) return { reason: error.reason, message: error.message }
  const message = 'Applying its manifests failed: the log of the listener has the cause.'
  return { reason: 'INTERNAL', message }
}
