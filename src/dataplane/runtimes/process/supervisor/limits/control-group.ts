/**
 * The control group of one start of an agent, below a group `pilothouse` of ours: the kernel itself holds what has entered
 * it, and all that this starts, to the bounds. Where version 1 has the controllers, it is a group in each of their hierarchies.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { sleep } from '../../../../../platform/async/retry.ts'
import { signalProcesses } from '../../processes/process-tags.mjs'
import type { ResourceLimits } from '../../processes/resource-limits.ts'
import { type Controller, findControllers, words } from './controllers.ts'

const PARENT_GROUP = 'pilothouse'
/** ms: a group in which nobody is after so long has been left by a keeper whose note of it is gone, too */
const ABANDONED_AFTER_MS = 600_000
/** μs: what a share of the CPU is measured over */
const CPU_PERIOD_US = 100_000
/** more processes than that the kernel can't count; it is no bound then */
const MAX_PIDS = 4_194_303
/** bytes that are sure to be written in digits; no machine has so many */
const MAX_MEMORY_BYTES = Number.MAX_SAFE_INTEGER - 1_000_000

/** What the kernel has counted since the group was made. */
export interface Counts {
  /** processes that it killed for lack of memory */
  killed: number
  /** processes that could not be started for the bound */
  refused: number
  processes: number
  /** bytes that it had at most; null: not known */
  peak: number | null
}

/** One folder, with what is done by it. */
interface Hierarchy {
  folder: string
  version: 1 | 2
  controllers: Controller[]
}

export class ControlGroup {
  readonly #hierarchies: Hierarchy[]

  private constructor(hierarchies: Hierarchy[]) {
    this.#hierarchies = hierarchies
  }

  /**
   * Null: there is no place where we may make one. `name`: of nobody else. `onFolder`: gets each folder before it is made.
   * What it has no controller for is not bounded by it, see `has`.
   */
  static create(name: string, bounds: ResourceLimits, onFolder: (folder: string) => void): ControlGroup | null {
    const group = new ControlGroup(
      findPlaces().flatMap((place) => {
        for (const above of place.folders) {
          const folder = path.join(above, PARENT_GROUP, name)
          onFolder(folder)
          const controllers = makeFolder(above, folder, place.version, place.controllers)
          const made = { folder, version: place.version, controllers }
          if (controllers.length > 0 && applyLimits(made, bounds)) {
            removeAbandoned(path.dirname(folder))
            return [made]
          }
          removeFolder(folder)
        }
        return []
      }),
    )
    return group.#hierarchies.length > 0 ? group : null
  }

  has(controller: Controller): boolean {
    return this.#hierarchyOf(controller) !== undefined
  }

  /** Whoever is started by this process from now on is in it, too. Throws when we may not. */
  enter(pid: number): void {
    for (const { folder } of this.#hierarchies) fs.writeFileSync(path.join(folder, 'cgroup.procs'), String(pid))
  }

  counts(): Counts {
    const [memory, pids] = [this.#hierarchyOf('memory'), this.#hierarchyOf('pids')]
    const events = memory?.version === 2 ? 'memory.events' : 'memory.oom_control'
    const peak = memory?.version === 2 ? 'memory.peak' : 'memory.memsw.max_usage_in_bytes'
    return {
      killed: counterIn(read(memory, events), 'oom_kill'),
      refused: counterIn(read(pids, 'pids.events'), 'max'),
      processes: Number(read(pids, 'pids.current') || 0),
      peak: Number(read(memory, peak) || read(memory, 'memory.max_usage_in_bytes')) || null,
    }
  }

  /** SIGKILL to all that are in it, wherever else they went; resolves when they are gone, or after 5 s. */
  async kill(): Promise<void> {
    await killAll(this.#hierarchies.map(({ folder }) => folder))
  }

  /** Ends who is left, and removes it. Never throws. False: it could not be removed. */
  async remove(): Promise<boolean> {
    return removeGroups(this.#hierarchies.map(({ folder }) => folder))
  }

  #hierarchyOf(controller: Controller): Hierarchy | undefined {
    return this.#hierarchies.find(({ controllers }) => controllers.includes(controller))
  }
}

/** Ends who is in these groups, and removes them. Never throws. False: one of them is still there. */
export async function removeGroups(folders: string[]): Promise<boolean> {
  if (folders.every((folder) => !fs.existsSync(folder))) return true
  await killAll(folders)
  // what has just ended may be counted for a moment more
  for (let tries = 0; !folders.map(removeFolder).every(Boolean); tries++) {
    if (tries === 20) return false
    await sleep(50)
  }
  return true
}

/** Version 1: each controller for itself, or those that are mounted together. Version 2: all of them in one. */
function findPlaces(): { version: 1 | 2; folders: string[]; controllers: Controller[] }[] {
  const places = new Map<string, { version: 1 | 2; folders: string[]; controllers: Controller[] }>()
  for (const [controller, { version, folders }] of findControllers()) {
    const key = version === 2 ? '2' : (folders[0] ?? '')
    const place = places.get(key)
    if (place) place.controllers.push(controller)
    else places.set(key, { version, folders, controllers: [controller] })
  }
  return [...places.values()]
}

/** The controllers that the new folder has; none: it can't be made there. */
function makeFolder(above: string, folder: string, version: 1 | 2, controllers: Controller[]): Controller[] {
  // another agent's end may remove ours at the same moment, while it is empty
  for (let tries = 0; tries < 3; tries++) {
    try {
      // a group of version 2 hands a controller on only when none of its own processes is in it, except at the root
      const available = version === 1 ? controllers : delegate(above, controllers)
      // without these two it is worth no more than a watch
      if (version === 2 && controllers.some((each) => each !== 'cpu' && !available.includes(each))) return []
      const parent = path.dirname(folder)
      fs.mkdirSync(parent, { recursive: true })
      const delegated = version === 1 ? available : delegate(parent, available)
      fs.mkdirSync(folder)
      return delegated
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return []
    }
  }
  return []
}

/** Version 2: which of these the groups below `folder` have, once all that can be handed on are. */
function delegate(folder: string, controllers: Controller[]): Controller[] {
  const file = path.join(folder, 'cgroup.subtree_control')
  const has = () => words(fs.readFileSync(file, 'utf8'))
  for (const controller of controllers) {
    if (has().includes(controller)) continue
    try {
      fs.writeFileSync(file, `+${controller}`)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && !fs.existsSync(folder)) throw error
    }
  }
  const now = has()
  return controllers.filter((controller) => now.includes(controller))
}

/** False: the bound of memory or processes can't be set. Less CPU than that may be all there is above. */
function applyLimits({ folder, version, controllers }: Hierarchy, bounds: ResourceLimits): boolean {
  const set = (file: string, value: string | number) => write(path.join(folder, file), String(value))
  const { memoryMb, processes, cpus } = bounds
  if (controllers.includes('memory') && memoryMb !== null) {
    const bytes = Math.min(MAX_MEMORY_BYTES, Math.round(memoryMb * 1e6))
    if (!set(version === 2 ? 'memory.max' : 'memory.limit_in_bytes', bytes)) return false
    // what is swapped out is used, too. Not every kernel counts it
    if (version === 2) set('memory.swap.max', 0)
    else set('memory.memsw.limit_in_bytes', bytes)
  }
  if (controllers.includes('pids') && processes !== null && processes <= MAX_PIDS)
    if (!set('pids.max', processes)) return false
  if (controllers.includes('cpu') && cpus !== null && cpus < os.availableParallelism()) {
    const quota = Math.max(1000, Math.round(cpus * CPU_PERIOD_US))
    if (version === 2) set('cpu.max', `${quota} ${CPU_PERIOD_US}`)
    else if (set('cpu.cfs_period_us', CPU_PERIOD_US)) set('cpu.cfs_quota_us', quota)
  }
  return true
}

/** Removes groups that are empty for long, whoever's they were; one that has a process can't be removed. */
function removeAbandoned(ours: string): void {
  try {
    for (const { name } of fs.readdirSync(ours, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
      const folder = path.join(ours, name)
      if (Date.now() - fs.statSync(folder).mtimeMs > ABANDONED_AFTER_MS) removeFolder(folder)
    }
  } catch {
    // another keeper removes them at the same moment
  }
}

async function killAll(folders: string[]): Promise<void> {
  // who can't start anything any more is met by one round
  for (const folder of folders) write(path.join(folder, 'pids.max'), '0')
  for (const folder of folders) write(path.join(folder, 'cgroup.kill'), '1')
  const until = performance.now() + 5000
  for (let wait = 5; performance.now() < until; wait = Math.min(200, wait * 2)) {
    const left = new Set(folders.flatMap((folder) => words(read({ folder }, 'cgroup.procs')).map(Number)))
    if (left.size === 0) return
    signalProcesses([...left], 'SIGKILL')
    await sleep(wait)
  }
}

function removeFolder(folder: string): boolean {
  try {
    fs.rmdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return false
  }
  try {
    fs.rmdirSync(path.dirname(folder))
  } catch {
    // others are in it
  }
  return true
}

function write(file: string, value: string): boolean {
  try {
    // nobody can make a file there: where the kernel has none of this name, it fails
    fs.writeFileSync(file, value)
    return true
  } catch {
    return false
  }
}

function read(hierarchy: Pick<Hierarchy, 'folder'> | undefined, file: string): string {
  if (!hierarchy) return ''
  try {
    return fs.readFileSync(path.join(hierarchy.folder, file), 'utf8').trim()
  } catch {
    return ''
  }
}

/** `name 3` in a line of its own. */
function counterIn(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}
