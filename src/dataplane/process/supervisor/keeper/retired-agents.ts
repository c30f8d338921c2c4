/**
 * Replaced agents: each may finish its requests in flight, then gets SIGTERM, and SIGKILL when its grace period is over.
 * When they use too much memory together, the oldest end early.
 */
import os from 'node:os'
import { sleep } from '../../../../platform/async/retry.ts'
import { resultWithin } from '../../../../platform/async/time-limit.ts'
import type { DoorLink } from '../../door/door-link.ts'
import type { ManagedAgent } from '../agent/managed-agent.ts'
import type { SupervisedAgent } from '../protocol.ts'

/** the least time from SIGTERM to SIGKILL of an agent that has served */
const KILL_DELAY_MS = 10_000
/** the same when the supervisor ends, too, and gives less time to drain */
const MIN_KILL_DELAY_MS = 1000
/** between two measurements of memory */
const MEMORY_CHECK_INTERVAL_MS = 5000
/** memory that all replaced agents may use: a multiple of one agent's limit, at most a share of the machine */
const MEMORY = { limits: 3, machineShare: 0.25 }

interface Retired {
  agent: ManagedAgent
  ended: Promise<void>
  /** aborted when it must end early */
  hurry: AbortController
}

export interface RetiredOptions {
  door: DoorLink
  /** longest time that a replaced agent has for its requests and runs, unless its plan says otherwise */
  drainSeconds: number
  onChange(): void
}

export class RetiredAgents {
  readonly #options: RetiredOptions
  #all: Retired[] = []
  /** ids of upstreams whose agents are being ended */
  readonly #ending = new Set<string>()
  #killDelayMs = KILL_DELAY_MS
  #closing = false
  #looking = false

  constructor(options: RetiredOptions) {
    this.#options = options
  }

  /** Oldest first. */
  get summaries(): SupervisedAgent[] {
    return this.#all.map(({ agent }) => agent.summary)
  }

  /** Resolves when all have ended. */
  async allEnded(): Promise<void> {
    await Promise.all(this.#all.map(({ ended }) => ended))
  }

  /** Ends every drain after `ms`, because the supervisor ends. */
  close(ms: number): void {
    this.#closing = true
    this.#killDelayMs = Math.min(this.#killDelayMs, Math.max(MIN_KILL_DELAY_MS, ms))
    setTimeout(() => {
      for (const { hurry } of this.#all) hurry.abort()
    }, ms)
  }

  /** Ends an agent. If it `served`, it may finish its requests in flight before SIGTERM. */
  add(agent: ManagedAgent, served: boolean): Promise<void> {
    agent.stopRestarts()
    const hurry = new AbortController()
    const ended = this.#end(agent, served, hurry.signal).finally(() => {
      this.#all = this.#all.filter((one) => one !== retired)
      this.#options.onChange()
    })
    const retired: Retired = { agent, ended, hurry }
    this.#all.push(retired)
    void this.#watchMemory()
    return ended
  }

  async #end(agent: ManagedAgent, served: boolean, hurry: AbortSignal): Promise<void> {
    const { door, drainSeconds } = this.#options
    const { upstream, graceSeconds = drainSeconds } = agent
    const until = performance.now() + graceSeconds * 1000
    if (upstream && served) {
      await resultWithin(graceSeconds * 1000, door.idle(upstream.id), hurry)
      this.#ending.add(upstream.id)
      await door.setState({ ending: [...this.#ending] })
    }
    if (served) await this.#terminate(agent, until, hurry)
    else await agent.end(this.#closing ? this.#killDelayMs : undefined)
    if (upstream) this.#ending.delete(upstream.id)
  }

  /** Sends SIGTERM. An agent that finishes runs without an open request has until the end of its grace period. */
  async #terminate(agent: ManagedAgent, until: number, hurry: AbortSignal): Promise<void> {
    hurry.addEventListener('abort', () => void agent.end(this.#killDelayMs))
    const left = hurry.aborted ? 0 : until - performance.now()
    await agent.end(Math.max(this.#killDelayMs, left))
  }

  async #watchMemory(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    while (this.#all.length > 0) {
      await this.#limitMemory().catch(() => undefined) // `ps` can fail; the next measurement repeats it
      await sleep(MEMORY_CHECK_INTERVAL_MS)
    }
    this.#looking = false
  }

  /** Keeps the newest agents that fit into the limit together; ends the drain of the others. */
  async #limitMemory(): Promise<void> {
    let usedMb = 0
    for (const retired of this.#all.filter(({ hurry }) => !hurry.signal.aborted).reverse()) {
      const { agent } = retired
      const maxMb = Math.floor(maxMbOf(agent))
      usedMb += await agent.memoryMb()
      if (usedMb <= maxMb) continue
      retired.hurry.abort()
      agent.note(
        `This replaced agent is ended before its time to drain (DRAIN_SECONDS) is up: with the newer replaced agents it uses ${Math.round(usedMb)} MB of memory, and they may use ${maxMb} MB.`,
        'warning',
      )
    }
  }
}

function maxMbOf({ bounds }: ManagedAgent): number {
  const machine = (os.totalmem() / 1e6) * MEMORY.machineShare
  return bounds.memoryMb === null ? machine : Math.min(machine, bounds.memoryMb * MEMORY.limits)
}
