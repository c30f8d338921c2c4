/** Enforces the limits of one start of an agent, by the kernel or by a watch (README.md). */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { ControlGroup } from './control-group.ts'
import { FolderWatch } from './folder-watch.ts'
import type { GroupRecord } from './group-record.ts'
import { type Exceeded, fileTooLarge, outOfHeap, tooManyProcesses, Watch } from './limit-watch.ts'
import type { ResourceLimits } from './resource-limits.ts'

export type { Exceeded } from './limit-watch.ts'

export interface LimitsOptions {
  deploymentId: string
  bounds: ResourceLimits
  /** account that no other deployment uses, so its processes can be found by it; null: others share its account */
  ownUid?: number | null
  /** False: never creates a control group. Default: true. */
  controlGroups?: boolean
  /** folders that the agent may fill */
  folders: string[]
  /** records the groups for the next keeper */
  record: GroupRecord
  /** Called when a limit was reached. `fatal`: the agent must be ended. */
  onExceeded(exceeded: Exceeded, fatal: boolean): void
}

/** How the leader ended. `output`: its last lines and those that match CAUSE_PATTERN. */
interface End {
  code: number | null
  signal: NodeJS.Signals | null
  output: string
}

export interface Limits {
  /** shell code before the command, like `ulimit -f 1024; `; may be empty */
  prelude: string
  /** Call with the leader of the process group before it runs anything. */
  enter(pid: number): Promise<void>
  /** The limit that ended the agent, if any. Call once, after its end. */
  explain(end?: End): Exceeded | null
  /** Sends SIGKILL to all processes in the control group. Never throws. */
  kill(): Promise<void>
  /** Call when no process is left: removes the group. Never throws. */
  close(): Promise<void>
}

/** The kernel's OOM killer ends agents before the server and its Postgres. */
const OOM_SCORE = '500'

export async function createLimits(options: LimitsOptions): Promise<Limits> {
  const { bounds, deploymentId, record } = options
  const name = `${deploymentId}.${randomBytes(6).toString('hex')}`
  let group = options.controlGroups === false ? null : ControlGroup.create(name, bounds, (folder) => record.add(folder))
  let watch: Watch | null = null
  return {
    prelude: prelude(options, group),
    async enter(pid) {
      try {
        fs.writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE)
      } catch {
        // not on Linux, or the process has ended
      }
      try {
        group?.enter(pid)
      } catch {
        // moving a process needs more permissions than creating a group
        const unused = group
        group = null
        if (await unused?.remove()) record.remove(name)
      }
      watch = new Watch({
        leader: pid,
        uid: options.ownUid ?? null,
        bounds,
        group,
        folders: folderWatch(options),
        onExceeded: options.onExceeded,
      })
    },
    explain: (end) => watch?.reachedLimit() ?? (end ? explainEnd(end, bounds) : null),
    async kill() {
      await group?.kill()
    },
    async close() {
      watch?.close()
      if (!group || (await group.remove())) record.remove(name)
    },
  }
}

function folderWatch({ folders, bounds: { diskMb, fileMb } }: LimitsOptions): FolderWatch | null {
  if (diskMb === null && fileMb === null) return null
  const bytes = (mb: number | null) => (mb === null ? Number.POSITIVE_INFINITY : mb * 1e6)
  return new FolderWatch(folders, bytes(diskMb), bytes(fileMb))
}

/** `ulimit -f` counts blocks of 512 bytes (POSIX). Shells name the process limit `-u` or `-p`. */
function prelude({ bounds, ownUid }: LimitsOptions, group: ControlGroup | null): string {
  const { fileMb, processes } = bounds
  const file = fileMb === null ? '' : `ulimit -f ${Math.max(1, Math.round((fileMb * 1e6) / 512))} 2>/dev/null; `
  // a replaced agent that drains counts, too: it has the same account
  const max = ownUid && processes !== null && !group?.has('pids') ? processes * 2 : null
  const count = max === null ? '' : `ulimit -u ${max} 2>/dev/null || ulimit -p ${max} 2>/dev/null; `
  return file + count
}

const FILE_LIMIT_PATTERN = /\bEFBIG\b|\bFile too large\b/i
const HEAP_LIMIT_PATTERN = /JavaScript heap out of memory/
const PROCESS_LIMIT_PATTERN = /\bspawn\b.*\bEAGAIN\b|Cannot fork|Resource temporarily unavailable/
/** Lines that explain the end of an agent. Its output tail keeps them even if a stack trace follows. */
export const CAUSE_PATTERN = new RegExp(
  [FILE_LIMIT_PATTERN, HEAP_LIMIT_PATTERN, PROCESS_LIMIT_PATTERN].map(({ source }) => source).join('|'),
  'i',
)

/** The limit that the exit reveals. The kernel does not count these violations; only the agent sees an error. */
function explainEnd({ code, signal, output }: End, { fileMb, memoryMb, processes }: ResourceLimits): Exceeded | null {
  if (signal === null && code === 0) return null
  if (fileMb !== null && (signal === 'SIGXFSZ' || code === 128 + 25 || FILE_LIMIT_PATTERN.test(output)))
    return fileTooLarge(fileMb)
  if ((signal === 'SIGABRT' || code === 128 + 6) && HEAP_LIMIT_PATTERN.test(output)) return outOfHeap(memoryMb)
  if (processes !== null && PROCESS_LIMIT_PATTERN.test(output)) return tooManyProcesses(processes, false)
  return null
}
