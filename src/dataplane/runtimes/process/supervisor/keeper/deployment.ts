/**
 * What serves one deployment here: its address, the agent behind it, the candidate that may take over, and those that were
 * replaced and still answer.
 */
import type { Health, Progress } from '../../../../../domain/protocol/protocol.ts'
import { resultWithin, withTimeout } from '../../../../../platform/async/time-limit.ts'
import { StepFailure } from '../../../../output/step-failure.ts'
import { KeptAgent } from '../agent/kept-agent.ts'
import type { Surroundings } from '../agent/start.ts'
import type { AgentPlan, State } from '../protocol.ts'
import { RetiredAgents, type RetiredOptions } from './retired-agents.ts'

/** how long a deploy waits for a port that another program has */
const BIND_TIMEOUT_MS = 30_000
/** so often it is tried before it is reported who has the port */
const TRIES_UNREPORTED = 10
/** no request waits longer than this for a switch */
const MAX_HOLD_MS = 10_000

/** There is no such candidate (any more). */
export class CandidateGone extends Error {}

interface Candidate {
  agent: KeptAgent
  /** settles with its first start */
  ready: Promise<void>
  progress: Progress | null
  /** get what it waits for */
  watchers: Set<(progress: Progress | null) => void>
}

export interface DeploymentOptions extends RetiredOptions {
  around: Surroundings
}

export class Deployment {
  readonly #options: DeploymentOptions
  #serving: KeptAgent | null = null
  #candidate: Candidate | null = null
  readonly #retired: RetiredAgents
  #port: number | null = null
  #problem: string | null = null
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
      serving: this.#serving?.shown ?? null,
      candidate: this.#candidate?.agent.shown ?? null,
      retired: this.#retired.shown,
      health: health && this.#problem ? unreachable(health, this.#problem) : health,
    }
  }

  /** Takes the stable address. Throws StepFailure when another program has it and keeps it; it is tried on and on. */
  async open(port: number, host: string): Promise<void> {
    const { network } = this.#options
    void network.want({ address: { port, host } })
    const opened = await resultWithin(
      BIND_TIMEOUT_MS,
      network.opened(port).then(() => true),
    )
    if (!opened)
      throw new StepFailure('PORT_IN_USE', this.#problem ?? 'The address of this deployment could not be opened.')
  }

  /** The network process has opened the address, or could not. */
  listening(): void {
    const { listening } = this.#options.network
    if (!listening) return
    const { port, problem, tries } = listening
    this.#port = problem === null ? port : null
    // a moment of it is nothing to report
    const report = problem !== null && tries >= TRIES_UNREPORTED ? cannotOpen(port, problem) : null
    if (report && report !== this.#problem) this.#serving?.note(report)
    if (problem === null || report) this.#problem = report
    this.#options.onChange()
  }

  /** Makes this what serves, or counts from its next start on; null: nothing is to serve. Any other candidate is ended. */
  async run(plan: AgentPlan | null): Promise<void> {
    this.#endOther(plan?.key)
    if (!plan) {
      if (this.#serving) await this.#serve(null)
    } else if (this.#serving?.key === plan.key) this.#serving.replan(plan)
    else if (this.#candidate) await this.#promote(this.#candidate, plan)
    else {
      const next = this.#newAgent(plan)
      next.keep()
      await this.#serve(next)
    }
    this.#options.onChange()
  }

  /**
   * Starts a candidate, unless it is there, and ends any other one. Resolves when it is ready. Throws StepFailure, or
   * CandidateGone when it was ended meanwhile.
   */
  async prepare(plan: AgentPlan, ms: number, onProgress: (progress: Progress | null) => void): Promise<void> {
    if (this.#closing) throw new CandidateGone()
    if (this.#serving?.key === plan.key) return
    this.#endOther(plan.key)
    this.#candidate ??= this.#begin(plan, ms)
    const candidate = this.#candidate
    candidate.watchers.add(onProgress)
    if (candidate.progress) onProgress(candidate.progress)
    try {
      await candidate.ready
    } catch (error) {
      if (this.#candidate === candidate) this.#take()
      else if (this.#serving !== candidate.agent) throw new CandidateGone()
      throw error
    } finally {
      candidate.watchers.delete(onProgress)
      this.#options.onChange()
    }
  }

  /** New requests wait. Throws StepFailure when the candidate can't answer them. */
  async hold(key: string): Promise<void> {
    if (this.#serving?.key === key) return
    const { agent } = this.#wanted(key)
    if (!agent.upstream) {
      const { reason, message } = agent.health
      throw new StepFailure(reason ?? 'CRASHED', message ?? 'The agent has ended.')
    }
    clearTimeout(this.#holding ?? undefined)
    this.#holding = setTimeout(() => void this.#resume(), MAX_HOLD_MS)
    await this.#options.network.want({ held: true })
  }

  /** The candidate serves from now on; the one before drains. */
  async switch(key: string): Promise<void> {
    if (this.#serving?.key !== key) await this.#promote(this.#wanted(key))
    this.#options.onChange()
  }

  /** Ends the candidate; who waits goes to what serves. Resolves when it has ended. */
  async discard(key: string): Promise<void> {
    if (this.#candidate?.agent.key !== key) return
    const candidate = this.#take()
    await this.#resume()
    await this.#end(candidate)
  }

  /** The supervisor is about to end: requests in flight have at most `drainMs`. Called again it shortens that time. */
  limitDrain(drainMs: number): void {
    this.#retired.close(drainMs)
  }

  /** Ends everything, each agent when its requests in flight are answered. Resolves when nothing is left. */
  async end(): Promise<void> {
    const { network, onChange } = this.#options
    this.#closing = true
    this.#port = null
    network.leave()
    if (this.#candidate) void this.#end(this.#take())
    if (this.#serving) void this.#serve(null)
    onChange()
    await this.#retired.over()
    await network.close()
  }

  #newAgent(plan: AgentPlan): KeptAgent {
    const agent = new KeptAgent(this.#options.around, plan)
    agent.onChange = () => {
      if (this.#serving === agent) void this.#options.network.want({ upstream: agent.upstream })
      this.#options.onChange()
    }
    return agent
  }

  #begin(plan: AgentPlan, ms: number): Candidate {
    const agent = this.#newAgent(plan)
    const candidate: Candidate = { agent, ready: Promise.resolve(), progress: null, watchers: new Set() }
    candidate.ready = withTimeout(ms, undefined, (inTime) =>
      agent.first(inTime, (progress) => {
        candidate.progress = progress
        for (const watcher of candidate.watchers) watcher(progress)
      }),
    )
    candidate.ready.catch(() => undefined)
    this.#options.onChange()
    return candidate
  }

  #wanted(key: string): Candidate {
    if (this.#candidate?.agent.key !== key) throw new CandidateGone()
    return this.#candidate
  }

  /** Ends the candidate if it is not this one. */
  #endOther(key: string | undefined): void {
    if (!this.#candidate || this.#candidate.agent.key === key) return
    void this.#resume()
    void this.#end(this.#take())
  }

  /** It is no candidate any more. */
  #take(): Candidate {
    const candidate = this.#candidate!
    this.#candidate = null
    this.#options.onChange()
    return candidate
  }

  async #promote(candidate: Candidate, plan: AgentPlan | null = null): Promise<void> {
    this.#candidate = null
    if (plan) candidate.agent.replan(plan)
    const { agent } = candidate
    // its first start may fail yet: then it is started like any other that serves
    void candidate.ready.catch(() => this.#serving === agent && agent.keep())
    await this.#serve(agent)
  }

  /** Nobody who asks after this has resolved meets the one before. */
  async #serve(next: KeptAgent | null): Promise<void> {
    const previous = this.#serving
    this.#serving = next
    clearTimeout(this.#holding ?? undefined)
    const applied = this.#options.network.want({ upstream: next?.upstream ?? null, held: false })
    // what is in flight there is known only when nothing new can get there
    if (previous) void this.#retired.add(previous, true)
    await applied
  }

  async #resume(): Promise<void> {
    clearTimeout(this.#holding ?? undefined)
    await this.#options.network.want({ held: false })
  }

  /** Ends a candidate that serves nobody. */
  #end({ agent }: Candidate): Promise<void> {
    return this.#retired.add(agent, false)
  }
}

function unreachable(health: Health, message: string): Health {
  return { ...health, ready: 0, reason: 'PORT_IN_USE', message }
}

function cannotOpen(port: number, problem: string): string {
  return problem === 'EADDRINUSE'
    ? `Port ${port}, the address of this deployment, is used by another program: stop that.`
    : `Port ${port}, the address of this deployment, can't be opened (${problem}).`
}
