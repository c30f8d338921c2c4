/**
 * Control group (cgroup) of one start of an agent, below the group `pilothouse`. The kernel limits its processes and
 * their children. In version 1 the group exists in the hierarchy of each controller.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { sleep } from '../../../platform/async/retry.ts'
import { killAll } from '../processes/end-group.ts'
import { type Controller, findPlaces, words } from './controllers.ts'
import type { ResourceLimits } from './resource-limits.ts'

const PARENT_GROUP = 'pilothouse'
/** An empty group this old is abandoned: the keeper that recorded it is gone, with its record. */
const ABANDONED_AFTER_MS = 600_000
const CPU_PERIOD_US = 100_000
/** The kernel can't count more. A higher limit is not set. */
const MAX_PIDS = 4_194_303
/** JavaScript prints it without an exponent. No machine has so much memory. */
const MAX_MEMORY_BYTES = Number.MAX_SAFE_INTEGER - 1_000_000

/** Counters of the kernel since the group was created. */
export interface Counts {
  /** processes killed for lack of memory */
  killed: number
  /** starts of processes that the limit refused */
  refused: number
  processes: number
  /** peak memory in bytes; null: unknown */
  peak: number | null
}

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
   * Null: this process may not create a group anywhere. `name` is unique. `onFolder` gets each folder in advance.
   * A missing controller limits nothing (`has`).
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

  /** The group of a running agent's process. Null: it has none. */
  static of(pid: number): ControlGroup | null {
    const hierarchies = findPlaces(pid).flatMap(({ folders: [folder = ''], version, controllers }) =>
      path.basename(path.dirname(folder)) === PARENT_GROUP ? [{ folder, version, controllers }] : [],
    )
    return hierarchies.length > 0 ? new ControlGroup(hierarchies) : null
  }

  has(controller: Controller): boolean {
    return this.#hierarchyOf(controller) !== undefined
  }

  /** Moves a process in; its later children are in the group, too. Throws without permission. */
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

  /**
   * CPU time of all its processes since it was created, also of ended ones, and their memory in bytes without the file cache that
   * the kernel can drop. Null: not counted here.
   */
  usage(): { cpuSeconds: number | null; memory: number | null } {
    const memory = this.#hierarchyOf('memory')
    const [used, cache] =
      memory?.version === 2 ? ['memory.current', 'inactive_file'] : ['memory.usage_in_bytes', 'total_inactive_file']
    const bytes = Number(read(memory, used)) - counterIn(read(memory, 'memory.stat'), cache)
    // version 2 counts CPU in every group, version 1 where `cpuacct` is mounted with `cpu`
    const cpu = this.#hierarchyOf('cpu') ?? this.#hierarchies.find(({ version }) => version === 2)
    const nanoseconds = Number(read(cpu, 'cpuacct.usage')) || 1000 * counterIn(read(cpu, 'cpu.stat'), 'usage_usec')
    return { cpuSeconds: nanoseconds / 1e9 || null, memory: bytes > 0 ? bytes : null }
  }

  /** Sends SIGKILL to all processes in the group. Resolves when they are gone, or after 5 s. */
  async kill(): Promise<void> {
    await killGroups(this.#hierarchies.map(({ folder }) => folder))
  }

  /** Kills the remaining processes and removes the group. Never throws. False: it could not be removed. */
  async remove(): Promise<boolean> {
    return removeGroups(this.#hierarchies.map(({ folder }) => folder))
  }

  #hierarchyOf(controller: Controller): Hierarchy | undefined {
    return this.#hierarchies.find(({ controllers }) => controllers.includes(controller))
  }
}

/** Kills the processes in these groups and removes them. Never throws. False: a group still exists. */
export async function removeGroups(folders: string[]): Promise<boolean> {
  if (folders.every((folder) => !fs.existsSync(folder))) return true
  await killGroups(folders)
  // the kernel may count an ended process for a moment longer
  for (let tries = 0; !folders.map(removeFolder).every(Boolean); tries++) {
    if (tries === 20) return false
    await sleep(50)
  }
  return true
}

/** Returns the controllers of the new folder. None: it can't be created. */
function makeFolder(above: string, folder: string, version: 1 | 2, controllers: Controller[]): Controller[] {
  // the end of another agent may remove the parent while it is empty
  for (let tries = 0; tries < 3; tries++) {
    try {
      // version 2 delegates controllers only from a group without processes, except at the root
      const available = version === 1 ? controllers : delegate(above, controllers)
      // without memory or pids the group is no better than a watch
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

/** Version 2: delegates controllers to the groups below `folder`. Returns those that they have. */
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

/** False: the limit of memory or processes can't be set. A CPU limit may fail: a parent may already allow less. */
function applyLimits({ folder, version, controllers }: Hierarchy, bounds: ResourceLimits): boolean {
  const set = (file: string, value: string | number) => write(path.join(folder, file), String(value))
  const { memoryMb, processes, cpus } = bounds
  if (controllers.includes('memory') && memoryMb !== null) {
    const bytes = Math.min(MAX_MEMORY_BYTES, Math.round(memoryMb * 1e6))
    if (!set(version === 2 ? 'memory.max' : 'memory.limit_in_bytes', bytes)) return false
    // swap counts, too; not every kernel supports it
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

/** Removes groups that have been empty for long, also other keepers'. A group with a process can't be removed. */
function removeAbandoned(parent: string): void {
  try {
    for (const { name } of fs.readdirSync(parent, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
      const folder = path.join(parent, name)
      if (Date.now() - fs.statSync(folder).mtimeMs > ABANDONED_AFTER_MS) removeFolder(folder)
    }
  } catch {
    // another keeper may remove them concurrently
  }
}

async function killGroups(folders: string[]): Promise<void> {
  // without new processes, one round of signals is enough
  for (const folder of folders) write(path.join(folder, 'pids.max'), '0')
  for (const folder of folders) write(path.join(folder, 'cgroup.kill'), '1')
  const left = () => [...new Set(folders.flatMap((folder) => words(read({ folder }, 'cgroup.procs')).map(Number)))]
  await killAll(left)
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
    // it has other groups
  }
  return true
}

function write(file: string, value: string): boolean {
  try {
    // writing to a file that this kernel does not have fails: cgroup folders take no new files
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

/** Reads a counter from a line like `name 3`. */
function counterIn(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}
