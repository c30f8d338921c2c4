/** The agents of one deployment: the serving agent, the candidate, and the replaced agents that drain. */
import type { AgentRestart, Health, Progress } from '../../../../domain/protocol/protocol.ts'
import { resultWithin, withTimeout } from '../../../../platform/async/time-limit.ts'
import { StepFailure } from '../../../output/step-failure.ts'
import type { Bounds, Place } from '../../door/messages.ts'
import { ManagedAgent } from '../agent/managed-agent.ts'
import type { AgentContext } from '../agent/process.ts'
import type { AgentPlan, State } from '../protocol.ts'
import { RetiredAgents, type RetiredOptions } from './retired-agents.ts'

/** longest wait of a deploy for a port that another program has */
const BIND_TIMEOUT_MS = 30_000
/** failed attempts to open the port before the health reports it */
const TRIES_UNREPORTED = 10
/** restarts that the state has */
const MAX_RESTARTS = 50
/** longest wait of a request for a switch */
const MAX_HOLD_MS = 10_000

/** The candidate does not exist (any more). */
export class CandidateGone extends Error {}

interface Candidate {
  agent: ManagedAgent
  /** settles when its first start ends */
  ready: Promise<void>
  progress: Progress | null
  /** called with the progress of its first start, for the last request */
  onProgress: (progress: Progress | null) => void
}

export interface DeploymentOptions extends RetiredOptions {
  agentContext: AgentContext
}

export class Deployment {
  readonly #options: DeploymentOptions
  #serving: ManagedAgent | null = null
  #candidate: Candidate | null = null
  readonly #retired: RetiredAgents
  #restarts: AgentRestart[] = []
  #port: number | null = null
  /** failed attempts to open the port since it was open */
  #tries = 0
  #problem: string | null = null
  /** called when a port was opened */
  readonly #opened = new Set<() => void>()
  #holding: NodeJS.Timeout | null = null
  #closing = false

  constructor(options: DeploymentOptions) {
    this.#options = options
    this.#retired = new RetiredAgents(options)
  }

  get state(): State {
    const health = this.#serving?.health ?? null
    return {
      port: this.#port,
      serving: this.#serving?.summary ?? null,
      candidate: this.#candidate?.agent.summary ?? null,
      retired: this.#retired.summaries,
      health: health && this.#problem ? unreachable(health, this.#problem) : health,
      restarts: this.#restarts,
    }
  }

  /** Opens the stable address. Throws StepFailure when another program keeps the port; attempts go on in the background. */
  async open(address: Place, bounds?: Bounds): Promise<void> {
    const { door } = this.#options
    const { port } = address
    await door.setState({ address, ...(bounds && { bounds }) })
    if (this.#port !== port) {
      let onOpened: () => void = () => undefined
      const opened = new Promise<void>((resolve) => {
        onOpened = resolve
      })
      this.#opened.add(onOpened)
      await resultWithin(BIND_TIMEOUT_MS, opened)
      // servers ask again while another program keeps the port
      this.#opened.delete(onOpened)
    }
    if (this.#port !== port)
      throw new StepFailure('PORT_IN_USE', this.#problem ?? 'The address of this deployment could not be opened.')
  }

  /** Called when the door has opened the address, and when that failed. */
  listening(port: number, problem: string | null): void {
    this.#port = problem === null ? port : null
    this.#tries = problem === null ? 0 : this.#tries + 1
    // a short failure is not reported
    const report = problem !== null && this.#tries >= TRIES_UNREPORTED ? cannotOpen(port, problem) : null
    if (report && report !== this.#problem) this.#serving?.note(report)
    if (problem === null || report) this.#problem = report
    if (problem === null) for (const resolve of this.#opened) resolve()
    this.#options.onChange()
  }

  /** Serves this plan, or uses it from the next start. null: serves nothing. Ends any other candidate. */
  async run(plan: AgentPlan | null): Promise<void> {
    this.#endOther(plan?.key)
    if (!plan) {
      if (this.#serving) await this.#serve(null)
    } else if (this.#serving?.key === plan.key) this.#serving.setPlan(plan)
    else if (this.#candidate) await this.#promote(this.#candidate, plan)
    else {
      const next = this.#newAgent(plan)
      next.keepRunning()
      await this.#serve(next)
    }
    this.#options.onChange()
  }

  /**
   * Starts a candidate, unless it exists, and ends any other one. Resolves when it is ready. Throws StepFailure, or
   * CandidateGone when the candidate was ended before it was ready.
   */
  async prepare(plan: AgentPlan, ms: number, onProgress: (progress: Progress | null) => void): Promise<void> {
    if (this.#closing) throw new CandidateGone()
    if (this.#serving?.key === plan.key) return
    this.#endOther(plan.key)
    this.#candidate ??= this.#begin(plan, ms)
    const candidate = this.#candidate
    candidate.onProgress = onProgress
    if (candidate.progress) onProgress(candidate.progress)
    try {
      await candidate.ready
    } catch (error) {
      if (this.#candidate === candidate) this.#candidate = null
      else if (this.#serving !== candidate.agent) throw new CandidateGone()
      throw error
    } finally {
      this.#options.onChange()
    }
  }

  /** Makes new requests wait. Throws StepFailure when the candidate can't answer them. */
  async hold(key: string): Promise<void> {
    if (this.#serving?.key === key) return
    const { agent } = this.#candidateFor(key)
    if (!agent.upstream) {
      const { reason, message } = agent.health
      throw new StepFailure(reason ?? 'CRASHED', message ?? 'The agent has ended.')
    }
    clearTimeout(this.#holding ?? undefined)
    this.#holding = setTimeout(() => void this.#resume(), MAX_HOLD_MS)
    await this.#options.door.setState({ held: true })
  }

  /** The candidate serves from now on. The agent before it drains. */
  async switch(key: string): Promise<void> {
    if (this.#serving?.key !== key) await this.#promote(this.#candidateFor(key))
    this.#options.onChange()
  }

  /** Ends the candidate and resolves when it has ended. */
  async discard(key: string): Promise<void> {
    if (this.#candidate?.agent.key === key) await this.#endCandidate()
  }

  /** Limits the drain before the supervisor ends, in ms. A second call can only shorten it. */
  limitDrain(drainMs: number): void {
    this.#retired.close(drainMs)
  }

  /** Ends each agent when its requests in flight are answered. Resolves when all have ended. */
  async end(): Promise<void> {
    const { door, onChange } = this.#options
    this.#closing = true
    this.#port = null
    door.leave()
    void this.#endCandidate()
    if (this.#serving) void this.#serve(null)
    onChange()
    await this.#retired.allEnded()
    await door.close()
  }

  #newAgent(plan: AgentPlan): ManagedAgent {
    const agent = new ManagedAgent(this.#options.agentContext, plan)
    agent.onRestart = (restart) => {
      this.#restarts = [...this.#restarts, restart].slice(-MAX_RESTARTS)
      this.#options.onChange()
    }
    agent.onChange = () => {
      if (this.#serving === agent) void this.#options.door.setState({ upstream: agent.upstream })
      this.#options.onChange()
    }
    return agent
  }

  #begin(plan: AgentPlan, ms: number): Candidate {
    const agent = this.#newAgent(plan)
    const candidate: Candidate = { agent, ready: Promise.resolve(), progress: null, onProgress: () => undefined }
    candidate.ready = withTimeout(ms, undefined, (inTime) =>
      agent.startCandidate(inTime, (progress) => {
        candidate.progress = progress
        candidate.onProgress(progress)
      }),
    )
    candidate.ready.catch(() => undefined)
    this.#options.onChange()
    return candidate
  }

  #candidateFor(key: string): Candidate {
    if (this.#candidate?.agent.key !== key) throw new CandidateGone()
    return this.#candidate
  }

  /** Ends a candidate with another key. */
  #endOther(key: string | undefined): void {
    if (this.#candidate?.agent.key !== key) void this.#endCandidate()
  }

  /** Ends the candidate, which has no requests to drain. Waiting requests go to the serving agent. */
  async #endCandidate(): Promise<void> {
    if (!this.#candidate) return
    const { agent } = this.#candidate
    this.#candidate = null
    const ended = this.#retired.add(agent, false)
    this.#options.onChange()
    await this.#resume()
    await ended
  }

  async #promote(candidate: Candidate, plan: AgentPlan | null = null): Promise<void> {
    this.#candidate = null
    if (plan) candidate.agent.setPlan(plan)
    const { agent } = candidate
    // its first start may still fail; then it is restarted like any serving agent
    void candidate.ready.catch(() => this.#serving === agent && agent.keepRunning())
    await this.#serve(agent)
  }

  /** Requests that arrive after this has resolved never reach the previous agent. */
  async #serve(next: ManagedAgent | null): Promise<void> {
    const previous = this.#serving
    this.#serving = next
    clearTimeout(this.#holding ?? undefined)
    const applied = this.#options.door.setState({ upstream: next?.upstream ?? null, held: false })
    // requests in flight can be counted only when no new ones can arrive
    if (previous) void this.#retired.add(previous, true)
    await applied
  }

  async #resume(): Promise<void> {
    clearTimeout(this.#holding ?? undefined)
    await this.#options.door.setState({ held: false })
  }
}

function unreachable(health: Health, message: string): Health {
  return { ...health, ready: 0, reason: 'PORT_IN_USE', message }
}

function cannotOpen(port: number, problem: string): string {
  return problem === 'EADDRINUSE'
    ? `Port ${port}, the address of this deployment, is used by another program. Stop that program.`
    : `Port ${port}, the address of this deployment, can't be opened (${problem}).`
}
