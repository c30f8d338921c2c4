/** Runs one revision's agent: restarts it with back-off whenever it exits. */
import { randomUUID } from 'node:crypto'
import type { AgentRestart, Health, LogLevel, Progress } from '../../../../domain/protocol/protocol.ts'
import { backoff, sleep } from '../../../../platform/async/retry.ts'
import { withTimeout } from '../../../../platform/async/time-limit.ts'
import { createMask, type Mask } from '../../../output/mask.ts'
import { isNoSpaceError, noSpaceFailure, StepFailure } from '../../../output/step-failure.ts'
import type { Upstream } from '../../door/messages.ts'
import type { Exceeded } from '../../isolation/limits.ts'
import type { ResourceLimits } from '../../isolation/resource-limits.ts'
import { proportionalBytes, usageOf } from '../../isolation/usage.ts'
import type { Exit } from '../../processes/process-group.ts'
import type { AgentPlan, SupervisedAgent } from '../protocol.ts'
import type { AgentContext } from './process.ts'
import { type Agent, PortTaken, startAgent, whyEnded } from './start.ts'

/** a restarted agent that is not ready by then counts as stuck and is restarted */
const START_TIMEOUT_MS = 120_000
/** an agent that ran this long has recovered: the back-off starts again */
const RECOVERED_MS = 60_000
/** first starts that may find their port taken by another program */
const MAX_PORT_TRIES = 3
/** the health of a running agent shows a reached limit this long, in ms */
const EXCEEDED_SHOWN_MS = 300_000
const MAX_MESSAGE_LENGTH = 2000

const STARTING: Progress = { reason: 'WAITING_FOR_HEALTH', message: 'starting' }

export class ManagedAgent {
  readonly key: string
  /** called after each change of its state */
  onChange: () => void = () => undefined
  /** called when it has ended by itself and will be started again */
  onRestart: (restart: AgentRestart) => void = () => undefined
  readonly #context: AgentContext
  readonly #stop = new AbortController()
  #plan: AgentPlan
  #mask: Mask
  #agent: Agent | null = null
  #pid: number | null = null
  #problem: Progress | null = null
  /** progress of a start that has not failed */
  #progress = STARTING
  #exceeded: { exceeded: Exceeded; until: number } | null = null
  #loop: Promise<void> = Promise.resolve()

  constructor(context: AgentContext, plan: AgentPlan) {
    this.#context = context
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
    const { exceeded, until } = this.#exceeded ?? { exceeded: null, until: 0 }
    const shown = exceeded && until > performance.now() ? exceeded : { message: null, reason: null }
    return { ready: 1, desired: 1, message: shown.message, reason: shown.reason }
  }

  get bounds(): ResourceLimits {
    return this.#plan.bounds
  }

  /** Undefined: the supervisor's default. */
  get graceSeconds(): number | undefined {
    return this.#plan.graceSeconds
  }

  get summary(): SupervisedAgent {
    const { key, revisionId, artifact, program } = this.#plan
    const container = program.kind === 'image' ? program.container : null
    return { key, revisionId, artifact, container, pid: this.#pid }
  }

  /** Uses this plan from the next start. */
  setPlan(plan: AgentPlan): void {
    this.#plan = plan
    this.#mask = createMask(plan.hidden)
  }

  /** Starts it as a candidate. Resolves when it is ready, and keeps it running from then on. Throws like startAgent. */
  async startCandidate(signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<void> {
    const first = this.#startFirst(signal, onProgress)
    this.#loop = first.catch(() => undefined)
    await first
    this.keepRunning()
  }

  async #startFirst(signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<void> {
    const stop = AbortSignal.any([signal, this.#stop.signal])
    for (let tries = 1; !this.#agent; tries++) {
      try {
        this.#agent = await this.#start(stop, onProgress)
      } catch (error) {
        if (!(error instanceof PortTaken) || tries === MAX_PORT_TRIES) throw this.#toUserError(error)
        this.note('Another program has taken the port of the agent; the agent starts again on another port')
      }
    }
  }

  /** Keeps it running from now on. */
  keepRunning(): void {
    this.#loop = this.#restartLoop()
  }

  /** Stops restarts. A running agent keeps running. */
  stopRestarts(): void {
    this.#stop.abort(new Error('The agent is being ended'))
  }

  /** Ends the agent. Resolves when all its processes have ended. */
  async end(graceMs?: number): Promise<void> {
    this.stopRestarts()
    await this.#agent?.end(graceMs)
    await this.#loop
  }

  /** Writes a supervisor message to the deploy log. */
  note(message: string, level: LogLevel = 'error'): void {
    this.#context.output.note(this.#plan, message, level)
  }

  /** Memory of its processes. For an image its limit, because only the engine knows the usage. */
  async memoryMb(): Promise<number> {
    if (this.#plan.program.kind === 'image') return this.#plan.bounds.memoryMb ?? 0
    if (this.#pid === null) return 0
    const usage = await usageOf(this.#pid, null)
    return proportionalBytes(usage) / 1e6
  }

  async #restartLoop(): Promise<void> {
    const { signal } = this.#stop
    for (let restarts = 0; ; ) {
      let upMs = 0
      let exit: Exit = { code: null, signal: null }
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
        upMs = performance.now() - since
        this.#problem = whyEnded(ended)
        exit = ended.exit
      } catch (error) {
        const failure = this.#toUserError(error)
        if (failure instanceof StepFailure)
          this.#problem = { reason: failure.reason, message: failure.message.split('\n')[0]! }
        else if (!signal.aborted) this.#problem = { reason: 'INTERNAL', message: 'The agent could not be started' }
      }
      this.#agent = null
      this.#pid = null
      this.onChange()
      if (signal.aborted) return
      this.#reportRestart(exit)
      if (upMs > RECOVERED_MS) restarts = 0
      const wait = backoff(restarts++, 500, 30_000)
      this.note(`${this.#problem?.message.replace(/\.$/, '')}; restart ${restarts} in ${wait / 1000} s`)
      await sleep(wait, signal)
      if (signal.aborted) return
    }
  }

  #reportRestart({ code, signal }: Exit): void {
    const { reason, message } = this.#problem ?? STARTING
    const { revisionId } = this.#plan
    const at = new Date().toISOString()
    this.onRestart({
      id: randomUUID(),
      at,
      revisionId,
      reason,
      exitCode: code,
      signal,
      message: message.slice(0, 1000),
    })
  }

  async #start(signal: AbortSignal, onProgress: (progress: Progress) => void = () => undefined): Promise<Agent> {
    try {
      return await startAgent(this.#context, this.#plan, this.#mask, signal, {
        onStarted: (pid) => {
          this.#pid = pid
          this.onChange()
        },
        onProgress,
        onExceeded: (exceeded, fatal) => {
          // a fatal limit is reported when the agent has ended
          if (fatal) return
          this.#exceeded = { exceeded, until: performance.now() + EXCEEDED_SHOWN_MS }
          this.note(exceeded.message)
          this.onChange()
        },
      })
    } catch (error) {
      this.#pid = null
      throw error
    }
  }

  /** Makes a failure for users, with secret values masked. */
  #toUserError(error: unknown): unknown {
    if ((error as Error).name === 'TimeoutError')
      return new StepFailure('HEALTH_CHECK_TIMED_OUT', 'The agent was not started in time.')
    const failure = isNoSpaceError(error) ? noSpaceFailure() : error
    if (!(failure instanceof StepFailure)) return failure
    const Failure = failure instanceof PortTaken ? PortTaken : StepFailure
    return new Failure(failure.reason, this.#mask(failure.message).slice(0, MAX_MESSAGE_LENGTH), failure)
  }
}
