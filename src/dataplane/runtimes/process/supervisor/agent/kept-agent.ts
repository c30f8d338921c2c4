/**
 * Keeps one revision's agent running: starts it again, with back-off, whenever it exits, until it is ended.
 */
import type { Health, LogLevel, Progress } from '../../../../../domain/protocol/protocol.ts'
import { backoff, sleep } from '../../../../../platform/async/retry.ts'
import { withTimeout } from '../../../../../platform/async/time-limit.ts'
import { createMask, type Mask } from '../../../../output/mask.ts'
import { isNoSpaceError, noSpaceFailure } from '../../../../output/no-space.ts'
import { StepFailure } from '../../../../output/step-failure.ts'
import type { ResourceLimits } from '../../processes/resource-limits.ts'
import type { Exceeded } from '../limits/limits.ts'
import { together, usageOf } from '../limits/processes.ts'
import type { Upstream } from '../network/messages.ts'
import type { AgentPlan, SupervisedAgent } from '../protocol.ts'
import { type Agent, PortTaken, type Surroundings, startAgent, whyEnded } from './start.ts'

/** a restarted agent that is not ready by then counts as stuck and is restarted */
const START_TIMEOUT_MS = 120_000
/** an agent that ran this long has recovered: the back-off starts again */
const RECOVERED_MS = 60_000
/** first starts that may find their port taken by another program */
const PORTS_TRIED = 3
/** the health of a running agent shows a reached limit this long, in ms */
const EXCEEDED_MS = 300_000
/** in characters */
const MAX_MESSAGE_LENGTH = 2000

const STARTING: Progress = { reason: 'WAITING_FOR_HEALTH', message: 'starting' }

export class KeptAgent {
  readonly key: string
  /** called after each change of its state */
  onChange: () => void = () => undefined
  readonly #around: Surroundings
  readonly #stop = new AbortController()
  #plan: AgentPlan
  #mask: Mask
  #agent: Agent | null = null
  #pid: number | null = null
  #problem: Progress | null = null
  /** progress of a start that has not failed */
  #progress = STARTING
  #exceeded: { what: Exceeded; until: number } | null = null
  #loop: Promise<void> = Promise.resolve()

  constructor(around: Surroundings, plan: AgentPlan) {
    this.#around = around
    this.key = plan.key
    this.#plan = plan
    this.#mask = createMask(plan.hidden)
  }

  /** null: it can't answer requests at the moment */
  get upstream(): Upstream | null {
    return this.#agent?.upstream ?? null
  }

  get health(): Health {
    if (!this.#agent) return { ready: 0, desired: 1, ...(this.#problem ?? this.#progress) }
    const { what, until } = this.#exceeded ?? { what: null, until: 0 }
    const shown = what && until > performance.now() ? what : { message: null, reason: null }
    return { ready: 1, desired: 1, message: shown.message, reason: shown.reason }
  }

  get bounds(): ResourceLimits {
    return this.#plan.bounds
  }

  get shown(): SupervisedAgent {
    const { key, revisionId, artifact, program } = this.#plan
    const container = program.kind === 'image' ? program.container : null
    return { key, revisionId, artifact, container, pid: this.#pid }
  }

  /** Uses this plan from the next start. */
  replan(plan: AgentPlan): void {
    this.#plan = plan
    this.#mask = createMask(plan.hidden)
  }

  /** Starts it as a candidate. Resolves when it is ready, and keeps it running from then on. Throws like startAgent. */
  async first(signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<void> {
    const first = this.#first(signal, onProgress)
    this.#loop = first.catch(() => undefined)
    await first
    this.keep()
  }

  async #first(signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<void> {
    const stop = AbortSignal.any([signal, this.#stop.signal])
    for (let tries = 1; !this.#agent; tries++) {
      try {
        this.#agent = await this.#start(stop, onProgress)
      } catch (error) {
        if (!(error instanceof PortTaken) || tries === PORTS_TRIED) throw this.#forPeople(error)
        this.note('Another program has taken the port that the agent was given; it is started again on another one')
      }
    }
  }

  /** Keeps it running from now on. */
  keep(): void {
    this.#loop = this.#keep()
  }

  /** Stops restarts. A running agent keeps running. */
  release(): void {
    this.#stop.abort(new Error('It is not wanted any more'))
  }

  /** Ends it and resolves when all its processes have ended. */
  async end(graceMs?: number): Promise<void> {
    this.release()
    await this.#agent?.end(graceMs)
    await this.#loop
  }

  /** Writes a supervisor message to the deploy log. */
  note(message: string, level: LogLevel = 'error'): void {
    this.#around.output.note(this.#plan, message, level)
  }

  /** Memory of its processes. For an image its limit, because only the engine knows the usage. */
  async memoryMb(): Promise<number> {
    if (this.#plan.program.kind === 'image') return this.#plan.bounds.memoryMb ?? 0
    if (this.#pid === null) return 0
    const usage = await usageOf(this.#pid, null)
    return together(usage) / 1e6
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stop
    for (let restarts = 0; ; ) {
      let up = 0
      try {
        this.#agent ??= await withTimeout(START_TIMEOUT_MS, signal, (inTime) =>
          this.#start(inTime, ({ reason, message }) => {
            this.#progress = { reason, message: message.split('\n')[0]! }
            this.onChange()
          }),
        )
        const since = performance.now()
        this.#problem = null
        this.onChange()
        const ended = await this.#agent.ended
        up = performance.now() - since
        this.#problem = whyEnded(ended)
      } catch (error) {
        const failure = this.#forPeople(error)
        if (failure instanceof StepFailure)
          this.#problem = { reason: failure.reason, message: failure.message.split('\n')[0]! }
        else if (!signal.aborted) this.#problem = { reason: 'INTERNAL', message: 'The agent could not be started' }
      }
      this.#agent = null
      this.#pid = null
      this.onChange()
      if (signal.aborted) return
      if (up > RECOVERED_MS) restarts = 0
      const wait = backoff(restarts++, 500, 30_000)
      this.note(`${this.#problem?.message.replace(/\.$/, '')}; restart ${restarts} in ${wait / 1000} s`)
      await sleep(wait, signal)
      if (signal.aborted) return
    }
  }

  async #start(signal: AbortSignal, onProgress: (progress: Progress) => void = () => undefined): Promise<Agent> {
    try {
      return await startAgent(this.#around, this.#plan, this.#mask, signal, {
        onStarted: (pid) => {
          this.#pid = pid
          this.onChange()
        },
        onProgress,
        onExceeded: (what, fatal) => {
          // a fatal limit is reported when the agent has ended
          if (fatal) return
          this.#exceeded = { what, until: performance.now() + EXCEEDED_MS }
          this.note(what.message)
          this.onChange()
        },
      })
    } catch (error) {
      this.#pid = null
      throw error
    }
  }

  /** Makes a failure for users, with secret values masked. */
  #forPeople(error: unknown): unknown {
    if ((error as Error).name === 'TimeoutError')
      return new StepFailure('HEALTH_CHECK_TIMED_OUT', 'The agent was not started in time.')
    const failure = isNoSpaceError(error) ? noSpaceFailure() : error
    if (!(failure instanceof StepFailure)) return failure
    const Failure = failure instanceof PortTaken ? PortTaken : StepFailure
    return new Failure(failure.reason, this.#mask(failure.message).slice(0, MAX_MESSAGE_LENGTH), failure)
  }
}
