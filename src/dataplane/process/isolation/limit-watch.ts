/**
 * Watches one running agent: its control group, or its processes, and its folders. Checks often at first and near a
 * limit, else every ten seconds, or less often if a check is expensive.
 */

import type { Reason } from '../../../domain/protocol/protocol.ts'
import { signalProcesses } from '../processes/process-tags.mjs'
import type { ControlGroup, Counts } from './control-group.ts'
import { type FolderWatch, isNearLimit } from './folder-watch.ts'
import type { ResourceLimits } from './resource-limits.ts'
import { proportionalBytes, usageOf } from './usage.ts'

const FIRST_INTERVAL_MS = 250
const NEAR_LIMIT_INTERVAL_MS = 1000
const IDLE_INTERVAL_MS = 10_000
/** Idle checks use at most this share of a core, but run at least once per MAX_INTERVAL_MS. */
const CPU_SHARE = 1 / 2000
const MAX_INTERVAL_MS = 60_000
/** A limit that was reached this long before the end of the agent counts as its cause. */
const CAUSE_WINDOW_MS = 11_000
/** The same violation is reported once in this time. */
const REPEAT_REPORT_MS = 60_000

const NO_COUNTS: Counts = { killed: 0, refused: 0, processes: 0, peak: null }

export interface WatchOptions {
  /** of the process group */
  leader: number
  /** account of this agent only; null: other agents share it */
  uid: number | null
  bounds: ResourceLimits
  /** null: only this watch enforces the limits */
  group: ControlGroup | null
  folders: FolderWatch | null
  onExceeded(exceeded: Exceeded, fatal: boolean): void
}

export class Watch {
  readonly #options: WatchOptions
  readonly #reportedAt = new Map<string, number>()
  #timer: NodeJS.Timeout | null = null
  #closed = false
  #wait = FIRST_INTERVAL_MS
  #seen: Counts = NO_COUNTS
  #last: { exceeded: Exceeded; at: number; fatal: boolean } | null = null
  /** consecutive checks that found refused process starts */
  #refusals = 0
  #used = { memory: 0, tasks: 0 }

  constructor(options: WatchOptions) {
    this.#options = options
    this.#next()
  }

  /** The limit that the agent had reached at its end or shortly before. */
  reachedLimit(): Exceeded | null {
    this.#checkGroup()
    const last = this.#last
    return last && (last.fatal || performance.now() - last.at < CAUSE_WINDOW_MS) ? last.exceeded : null
  }

  close(): void {
    this.#closed = true
    if (this.#timer) clearTimeout(this.#timer)
  }

  /** `cost`: CPU time of the check in ms. */
  #next(cost = 0): void {
    if (this.#closed) return
    const wait =
      this.#wait < IDLE_INTERVAL_MS
        ? this.#wait
        : Math.min(MAX_INTERVAL_MS, Math.max(IDLE_INTERVAL_MS, cost / CPU_SHARE))
    this.#timer = setTimeout(() => void this.#check(), wait)
    this.#timer.unref()
    this.#wait = Math.min(IDLE_INTERVAL_MS, this.#wait * 2)
  }

  async #check(): Promise<void> {
    const before = process.cpuUsage()
    this.#checkGroup()
    let near = this.#refusals > 0
    try {
      near = (await this.#checkProcesses()) || near
    } catch {
      // `ps` can fail; the next check repeats it
    }
    // FolderWatch limits its own CPU time
    const { user, system } = process.cpuUsage(before)
    near = (await this.#checkFolders()) || near
    if (near) this.#wait = NEAR_LIMIT_INTERVAL_MS
    this.#next((user + system) / 1000)
  }

  #checkGroup(): void {
    const { group, bounds } = this.#options
    if (!group) return
    const counts = group.counts()
    const { killed, refused } = this.#seen
    this.#seen = counts
    if (counts.killed > killed) {
      const exceedsOwnLimit =
        bounds.memoryMb !== null && (counts.peak === null || counts.peak > bounds.memoryMb * 0.9e6)
      this.#report(exceedsOwnLimit ? outOfMemory(bounds.memoryMb!, false) : machineOutOfMemory(), false)
    }
    if (counts.refused === refused || bounds.processes === null) this.#refusals = 0
    else {
      this.#refusals++
      const persists = this.#refusals > 3 && counts.processes > bounds.processes * 0.9
      this.#report(tooManyProcesses(bounds.processes, persists), persists)
      if (persists) void group.kill()
    }
  }

  /** Checks the limits that no control group enforces. Returns whether one is near. */
  async #checkProcesses(): Promise<boolean> {
    const { leader, uid, bounds, group } = this.#options
    const memory = group?.has('memory') ? null : bounds.memoryMb && bounds.memoryMb * 1e6
    const processes = group?.has('pids') ? null : bounds.processes
    if (memory === null && processes === null) return false
    const usage = await usageOf(leader, uid)
    if (this.#closed) return false
    if (memory !== null && usage.memory > memory && proportionalBytes(usage) > memory)
      this.#end(usage.pids, outOfMemory(bounds.memoryMb!, true))
    else if (processes !== null && usage.tasks > processes) this.#end(usage.pids, tooManyProcesses(processes, true))
    const before = this.#used
    this.#used = usage
    return (
      isNearLimit(usage.memory, before.memory, memory ?? Number.POSITIVE_INFINITY) ||
      isNearLimit(usage.tasks, before.tasks, processes ?? Number.POSITIVE_INFINITY)
    )
  }

  #end(pids: number[], exceeded: Exceeded): void {
    signalProcesses(pids, 'SIGKILL')
    this.#report(exceeded, true)
  }

  async #checkFolders(): Promise<boolean> {
    const { folders, bounds } = this.#options
    if (!folders) return false
    const contents = await folders.measure()
    if (this.#closed) return false
    if (contents && bounds.diskMb !== null && contents.bytes > bounds.diskMb * 1e6)
      this.#report(tooMuchOnDisk(bounds.diskMb, contents.bytes), true)
    const { fileMb } = bounds
    // the file has its maximum size and was written recently
    if (contents && fileMb !== null && contents.largest.bytes >= Math.floor((fileMb * 1e6) / 512) * 512)
      if (Date.now() - contents.largest.written < REPEAT_REPORT_MS) this.#report(fileTooLarge(fileMb), false)
    return folders.isNearLimit
  }

  #report(exceeded: Exceeded, fatal: boolean): void {
    const at = performance.now()
    if (this.#last?.fatal) return
    this.#last = { exceeded, at, fatal }
    const key = `${exceeded.reason} ${fatal}`
    if (at - (this.#reportedAt.get(key) ?? Number.NEGATIVE_INFINITY) < REPEAT_REPORT_MS) return
    this.#reportedAt.set(key, at)
    this.#options.onExceeded(exceeded, fatal)
  }
}

export interface Exceeded {
  reason: Reason
  /** for users: which limit, its size, and what to do */
  message: string
}

const amount = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 1 })
const megabytes = (mb: number) => `${amount(mb)} MB`

const MORE_MEMORY = 'Give it a larger memory_limit_mb in resource_spec, or let it use less.'

/** `whole`: the agent was ended; else one of its processes. */
const outOfMemory = (mb: number, whole: boolean): Exceeded => ({
  reason: 'OUT_OF_MEMORY',
  message: `${whole ? 'The agent' : 'A process of the agent'} was ended because the agent used more memory than its limit of ${megabytes(mb)}. ${MORE_MEMORY}`,
})

/** V8 limits its heap below the limit of the process. */
export const outOfHeap = (mb: number | null): Exceeded => ({
  reason: 'OUT_OF_MEMORY',
  message: `The agent ended because Node.js had used up its heap${mb === null ? '' : `, about half of the agent’s limit of ${megabytes(mb)}`}. ${MORE_MEMORY}`,
})

/** Messages for users when an agent has reached one of its limits. */
const machineOutOfMemory = (): Exceeded => ({
  reason: 'OUT_OF_MEMORY',
  message:
    'A process of the agent was ended because the machine had no memory left. The agent was within its own limit. The operator should lower the limits of agents, or give the machine more memory.',
})

/** `ended`: the agent was ended because it kept trying. */
export const tooManyProcesses = (processes: number, ended: boolean): Exceeded => ({
  reason: 'PROCESS_LIMIT',
  message: ended
    ? `The agent was ended because it kept starting processes above its limit of ${amount(processes)} processes and threads (APP_PIDS).`
    : `The agent could not start a process because it has reached its limit of ${amount(processes)} processes and threads (APP_PIDS).`,
})

export const fileTooLarge = (mb: number): Exceeded => ({
  reason: 'FILE_LIMIT',
  message: `The agent could not write to a file because the file has reached the limit of ${megabytes(mb)} (APP_FILE_MB).`,
})

const tooMuchOnDisk = (mb: number, usedBytes: number): Exceeded => ({
  reason: 'DISK_LIMIT',
  message: `The agent was ended because its folders hold ${megabytes(Math.ceil(usedBytes / 1e6))}, more than the limit of ${megabytes(mb)} (APP_DISK_MB). Files in its HOME stay: let the agent remove some when it starts, or let the operator raise the limit.`,
})
