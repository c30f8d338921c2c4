/** Runs one claim: compares its assignment with the current work and acts on the difference. See README.md. */
import type { Logger } from 'pino'
import { ClaimLostError } from '../../domain/errors/errors.ts'
import type { Assignment, Claim, ControlPlane, HeartbeatItem, Step } from '../../domain/protocol/protocol.ts'
import { createSingleflight } from '../../platform/async/batcher.ts'
import { backoff, retry } from '../../platform/async/retry.ts'
import { resultWithin } from '../../platform/async/time-limit.ts'
import { type Tracing, traceIdOf } from '../../platform/tracing/tracing.ts'
import { storable } from '../output/terminal-text.ts'
import type { LeasedClaim, OnProgress, Runtime } from '../runtimes/runtime.ts'
import { FencedClaim, LatestAssignment, Lease } from './fenced-claim.ts'
import { LogSink } from './log-sink.ts'
import { performStep, type StepResult, Withdrawn } from './perform-step.ts'
import { Phases } from './phases.ts'
import { RestartReports } from './restart-reports.ts'
import { ensureStopped, StuckError } from './stop-step.ts'

export interface ClaimRunnerOptions {
  controlPlane: ControlPlane
  runtime: Runtime
  log: Logger
  claim: Claim
  /** performance.now() when the lease was requested; the lease counts from then */
  leasedAt: number
  /** resolves when an earlier claim of the same deployment has ended here */
  after?: Promise<void>
  /** called when work can't be stopped, not even by force */
  onStuck?: (error: StuckError) => void
  /** called when the control plane has answered the report of a step; `too_late`: the step had ended before */
  onStepEnd?: (kind: Step['kind'], outcome: StepResult['outcome'] | 'too_late') => void
  /** see stop-step.ts */
  stopMs?: number
  /** absent: no collector is set */
  tracing?: Tracing | undefined
}

/** ms after which a claim that does not end makes this process exit */
const SHUTDOWN_MS = 120_000

/** About 5 min with its pauses: an unavailable database may last that long. */
const RELEASE_TRIES = 35

interface Active {
  step: Step
  abort: AbortController
  done: Promise<void>
  /** the work has ended and its result is being reported */
  isOver: boolean
}

export class ClaimRunner {
  readonly claim: LeasedClaim
  /** resolves when the steps have ended and the claim is lost or released */
  readonly over: Promise<void>
  readonly #options: ClaimRunnerOptions
  readonly #log: Logger
  readonly #fencedClaim: FencedClaim
  readonly #sink: LogSink
  readonly #lease = new Lease(() => void this.#leaseOver())
  readonly #end = new AbortController()
  readonly #latest: LatestAssignment
  readonly #prunings = createSingleflight()
  /** resolves when no pruning runs */
  #pruned: Promise<void> = Promise.resolve()
  #ready = false
  #active: Active | null = null
  /** the step that was started last; this try of it is not started again */
  #started: Pick<Step, 'id' | 'tries' | 'kind'> | null = null
  #stopReported = -1
  #claimOver = false
  #reporting: Promise<unknown> | null = null
  #progress: Parameters<OnProgress>[0] = null
  /** true during a hand-over: the step itself changes what runs */
  #handingOver = false
  #finish!: () => void
  readonly #restarts = new RestartReports()
  /** URL of the deployment in the last heartbeat, and in the last one that arrived */
  #sentUrl: string | undefined
  #toldUrl: string | undefined

  constructor(options: ClaimRunnerOptions) {
    const { claim, controlPlane, log } = options
    this.#options = options
    const fencedClaim = new FencedClaim(controlPlane, claim)
    this.#fencedClaim = fencedClaim
    this.claim = {
      ...claim,
      get token() {
        return fencedClaim.token
      },
      leaseValid: () => !this.ended && this.#lease.left > 0,
      raiseToken: (seen) => this.#raiseToken(seen),
    }
    this.#latest = new LatestAssignment(claim)
    this.#log = log.child({ deploymentId: claim.deployment.id, claimId: claim.claimId })
    this.#sink = new LogSink(controlPlane, this.#fencedClaim)
    this.over = new Promise((resolve) => {
      this.#finish = resolve
    })
    this.renewed(options.leasedAt, claim.leaseSeconds)
    void Promise.resolve(options.after).then(() => {
      this.#ready = true
      this.#reconcile()
    })
  }

  get #assignment(): Assignment {
    return this.#latest.assignment
  }

  /** True: the claim is shutting down or has ended. */
  get ended(): boolean {
    return this.#end.signal.aborted
  }

  get underWay(): Step['kind'] | null {
    return this.#active && !this.#active.isOver ? this.#active.step.kind : null
  }

  heartbeat(): HeartbeatItem {
    const { runtime } = this.#options
    const health = runtime.health(this.claim.deployment.id)
    const idle = runtime.idle?.(this.claim.deployment.id)
    const url = runtime.url?.(this.claim.deployment.id)
    this.#sentUrl = url
    const restarts = this.#restarts.toReport(runtime.restarts?.(this.claim.deployment.id) ?? [])
    const { claimId, token } = this.claim
    return {
      claimId,
      token,
      generation: this.#assignment.generation,
      ...(this.#active && {
        progress: this.#progress && { reason: this.#progress.reason, message: storable(this.#progress.message) },
        secondsLeft: this.#progress?.secondsLeft,
      }),
      ...(health && { health: { ...health, message: health.message && storable(health.message) } }),
      ...(restarts.length > 0 && { restarts }),
      ...(idle !== undefined && { idle }),
      ...(url && url !== this.#toldUrl && { url }),
    }
  }

  /** Extends the lease to `leaseSeconds` after `since` (performance.now()). */
  renewed(since: number, leaseSeconds: number): void {
    if (this.ended) return
    this.#lease.renewed(since, leaseSeconds)
    this.#toldUrl = this.#sentUrl
    this.#restarts.reported()
  }

  /** ms until this process gives up the lease. */
  get leaseLeft(): number {
    return this.#lease.left
  }

  /** Takes an assignment from a heartbeat response. */
  update(assignment: Assignment): void {
    // older assignments are ignored: a report's response may have brought a newer one
    if (this.#latest.take(assignment)) this.#reconcile()
  }

  /** Ends the steps immediately and without a report, because the claim is lost. */
  async lost(): Promise<void> {
    await this.#shutDown(async () => undefined)
  }

  /** Handles a response that does not know the claim under this token. */
  async refused(token: string): Promise<void> {
    if (this.ended || !(await this.#fencedClaim.isCurrent(token))) return
    // a heartbeat may see the end of the claim before the report that caused it returns
    await this.#reporting
    if (this.ended || this.#claimOver) return
    this.#log.warn('A claim was lost')
    await this.lost()
  }

  async #raiseToken(seen: string): Promise<void> {
    try {
      await this.#fencedClaim.raise(seen)
      this.#log.warn({ seen }, 'The agents know a newer fencing token than the database, so the token was raised')
    } catch (error) {
      if (error instanceof ClaimLostError) void this.lost()
      throw error
    }
  }

  /** Ends the steps of an expired lease. Releases the claim when possible, so that this try does not count. */
  async #leaseOver(): Promise<void> {
    if (this.ended) return
    this.#log.warn('The lease could not be renewed, so the steps of this deployment end here. Its agents keep serving')
    await this.lost()
    const when = (error: unknown) => !(error instanceof ClaimLostError)
    await retry(() => this.#fencedClaim.release(), {
      when,
      pause: (n) => backoff(n, 1000, 10_000),
      tries: RELEASE_TRIES,
    }).catch((error) => {
      if (when(error)) this.#log.warn({ err: error }, 'An expired claim could not be released')
    })
  }

  /** Ends the steps and releases the claim. False: the control plane did not answer. */
  release(): Promise<boolean> {
    return this.#shutDown(async () => {
      await this.#sink.flush(1000)
      await this.#fencedClaim.release()
    })
  }

  /** Ends the steps, then calls `last`. False: `last` failed. */
  async #shutDown(last: () => Promise<void>): Promise<boolean> {
    if (this.ended) return this.over.then(() => true)
    let done = true
    this.#end.abort()
    this.#lease.stop()
    this.#active?.abort.abort(new Error('This worker no longer holds the deployment'))
    const { runtime, after, onStuck } = this.#options
    try {
      const over = Promise.all([after, this.#active?.done, runtime.drop(this.claim.deployment.id)])
      if (!(await resultWithin(SHUTDOWN_MS, over)))
        onStuck?.(
          new StuckError('The work on a deployment can’t be stopped, so this process exits and must be restarted.'),
        )
      await over
      await last()
    } catch (error) {
      done = error instanceof ClaimLostError
      if (!done) this.#log.error({ err: error }, 'A claim could not be released')
    }
    this.#sink.close()
    this.#finish()
    return done
  }

  /** Level-based: acts on the current assignment. It may be called at any time. */
  #reconcile(): void {
    if (this.ended || !this.#ready) return
    const { run, step, stop, builder, generation } = this.#assignment
    if (this.#active && (stop || step?.id !== this.#active.step.id)) this.#active.abort.abort(new Withdrawn())
    if (!this.#handingOver) this.#options.runtime.ensure(this.claim, run, run && this.#sink.logOf(run.revision))
    if (this.#active) return
    if (stop) {
      if (this.#stopReported === generation) return
      this.#stopReported = generation
      void this.#reportStopped()
    } else if (step && !(step.id === this.#started?.id && step.tries === this.#started.tries)) this.#begin(step)
    // never prunes after a builder's step: no revision refers to the pushed image yet
    else if (!step && !builder) this.#pruned = this.#prunings('', () => this.#prune())
  }

  /** Removes unneeded artifacts. Never rejects: the next run retries failures. */
  async #prune(): Promise<void> {
    const { runtime } = this.#options
    await runtime.prune(this.claim.deployment.id, this.#assignment.keepArtifacts).catch((error) => {
      this.#log.warn({ err: error }, 'Old artifacts could not be removed')
    })
  }

  #begin(assigned: Step): void {
    const step = this.#latest.timed(assigned)
    const abort = new AbortController()
    const { tracing } = this.#options
    const { traceparent } = step
    this.#started = step
    const work = async () => {
      await this.#pruned
      await performStep({
        runtime: this.#options.runtime,
        claim: this.claim,
        step,
        log: step.revision && this.#sink.logOf(step.revision),
        signal: abort.signal,
        report: (result) => this.#report(step, result),
        onProgress: (progress) => {
          if (this.#active?.step.id === step.id) this.#progress = progress
        },
        onHandOver: () => {
          this.#handingOver = true
        },
        logger: traceparent ? this.#log.child({ trace_id: traceIdOf(traceparent) }) : this.#log,
        phases: tracing && traceparent ? new Phases(tracing, traceparent) : undefined,
      })
      this.#active = null
      this.#progress = null
      this.#handingOver = false
    }
    const done = work()
    this.#active = { step, abort, done, isOver: false }
    void done.then(() => (this.#claimOver ? this.lost() : this.#reconcile()))
    abort.signal.addEventListener('abort', () => void this.#ensureStopped(step, done), { once: true })
  }

  /** After a forced stop it gives up the claim, so that another worker continues. */
  async #ensureStopped(step: Step, done: Promise<void>): Promise<void> {
    const { runtime, onStuck, stopMs } = this.#options
    try {
      if (await ensureStopped(step, done, { runtime, log: this.#log, stopMs })) await this.release()
    } catch (error) {
      onStuck?.(error as StuckError)
    }
  }

  /** Never throws. Retries until the control plane answers. True: the result was recorded. */
  async #report({ id: stepId, kind }: Pick<Step, 'id' | 'kind'>, result: StepResult): Promise<boolean> {
    const storableResult = result.message === undefined ? result : { ...result, message: storable(result.message) }
    if (this.#active) this.#active.isOver = true
    await this.#sink.flush()
    if (this.ended) return false
    const complete = () => this.#fencedClaim.complete({ stepId, ...storableResult })
    const pause = (tries: number, error: unknown) => {
      this.#log.warn({ err: error, stepId }, 'The result of a step could not be reported yet')
      return backoff(tries, 200, 5000)
    }
    try {
      const when = (error: unknown) => !(error instanceof ClaimLostError)
      const reporting = retry(complete, { when, pause, signal: this.#end.signal })
      this.#reporting = reporting.catch(() => undefined)
      const { recorded, assignment, over } = await reporting
      // a withdrawn step is already closed when its end is reported
      const counts = recorded || result.outcome === 'stopped'
      this.#options.onStepEnd?.(kind, counts ? result.outcome : 'too_late')
      this.#latest.take(assignment, 'the same')
      // the report ended the claim
      if (over || (recorded && kind === 'TEARDOWN' && result.outcome === 'succeeded')) this.#claimOver = true
      return recorded
    } catch (error) {
      if (error instanceof ClaimLostError) void this.lost()
      return false
    }
  }

  /** Reports a stop when no step runs here. */
  async #reportStopped(): Promise<void> {
    // the response to the earlier report may be lost
    if (this.#started) await this.#report(this.#started, { outcome: 'stopped' })
    // or the step never arrived or was unreadable: then only a new claim can continue the deployment
    if (this.#assignment.stop && !this.#active) await this.release()
    else this.#reconcile()
  }
}
