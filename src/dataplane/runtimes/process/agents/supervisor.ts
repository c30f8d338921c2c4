/**
 * Keeps one revision's agent running: starts it again, with back-off, whenever it exits, until it is ended.
 */
import type { Health, Progress } from '../../../../domain/protocol/protocol.ts'
import { backoff, sleep } from '../../../../platform/async/retry.ts'
import { limited } from '../../../../platform/async/time-limit.ts'
import { StepFailure } from '../../../output/failure.ts'
import { isNoSpace, noSpace } from '../../../output/no-space.ts'
import type { OnProgress } from '../../runtime.ts'
import { describeExit, ranOutOfMemory } from '../os/group.ts'
import type { Reaper } from '../os/reaper.ts'
import { type Agent, type AgentPlan, PortTaken, startAgent } from './agent.ts'
import type { Upstream } from './upstream.ts'

/** a restarted agent that is not ready by then is taken for stuck and started anew */
const START_LIMIT_MS = 120_000
/** an agent that was up for that long has recovered: the next back-off begins anew */
const RECOVERED_MS = 60_000
/** so many first starts may find their port taken meanwhile */
const PORTS_TRIED = 3

const STARTING: Progress = { reason: 'WAITING_FOR_HEALTH', message: 'starting' }

export interface Supervised {
  revisionId: string
  artifact: string
  /** makes the plan anew for every start, which `signal` ends. May throw StepFailure. */
  plan: (signal: AbortSignal) => Promise<AgentPlan>
  /** for lines of our own about the agent */
  note: (message: string) => void
}

export class Supervisor {
  readonly of: Supervised
  readonly #reaper: Reaper
  readonly #stop = new AbortController()
  #agent: Agent | null = null
  #problem: Progress | null = null
  #loop: Promise<void> = Promise.resolve()
  /** called whenever the agent can serve (its upstream), or can't (null) */
  onUpstream: (upstream: Upstream | null) => void = () => undefined

  constructor(reaper: Reaper, of: Supervised) {
    this.#reaper = reaper
    this.of = of
  }

  get upstream(): Upstream | null {
    return this.#agent?.upstream ?? null
  }

  get health(): Health {
    return this.#agent
      ? { ready: 1, desired: 1, message: null, reason: null }
      : { ready: 0, desired: 1, ...(this.#problem ?? STARTING) }
  }

  /** The first start, as a candidate: resolves when it is ready, throws as startAgent does. Supervised from then on. */
  async first(signal: AbortSignal, onProgress?: OnProgress): Promise<void> {
    const stop = AbortSignal.any([signal, this.#stop.signal])
    for (let tries = 1; !this.#agent; tries++) {
      try {
        this.#agent = await startAgent(this.#reaper, await this.of.plan(stop), stop, onProgress)
      } catch (error) {
        if (!(error instanceof PortTaken) || tries === PORTS_TRIED) throw error
        this.of.note('Another program has taken the port that the agent was given; it is started again on another one')
      }
    }
    this.keep()
  }

  /** Supervises from now on. */
  keep(): void {
    this.#loop = this.#supervise()
  }

  /** From now on it is not started again; while it runs it goes on. */
  release(): void {
    this.#stop.abort()
  }

  /** Ends agent and supervision; resolves when no process is left. */
  async end(graceMs?: number): Promise<void> {
    this.#stop.abort()
    await this.#agent?.end(graceMs)
    await this.#loop
  }

  async #supervise(): Promise<void> {
    const { signal } = this.#stop
    for (let restarts = 0; ; ) {
      let up = 0
      try {
        this.#agent ??= await this.#start()
        const since = performance.now()
        this.#problem = null
        this.onUpstream(this.#agent.upstream)
        const exit = await this.#agent.ended
        up = performance.now() - since
        const reason = ranOutOfMemory(exit) ? 'OUT_OF_MEMORY' : 'CRASHED'
        this.#problem = { reason, message: `The agent ${describeExit(exit)}` }
      } catch (error) {
        const failure = isNoSpace(error) ? noSpace() : error
        if (failure instanceof StepFailure)
          this.#problem = { reason: failure.reason, message: failure.message.split('\n')[0]! }
        else if (!signal.aborted) this.#problem = { reason: 'INTERNAL', message: 'The agent could not be started' }
      }
      this.#agent = null
      if (signal.aborted) return
      this.onUpstream(null)
      if (up > RECOVERED_MS) restarts = 0
      const wait = backoff(restarts++, 500, 30_000)
      this.of.note(`${this.#problem?.message}; restart ${restarts} in ${wait / 1000} s`)
      await sleep(wait, signal)
      if (signal.aborted) return
    }
  }

  async #start(): Promise<Agent> {
    const plan = await this.of.plan(this.#stop.signal)
    return limited(START_LIMIT_MS, this.#stop.signal, (signal) => startAgent(this.#reaper, plan, signal))
  }
}
