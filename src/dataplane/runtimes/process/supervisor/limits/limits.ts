/**
 * Holds one start of an agent to its bounds: by a control group where we may make one (control-group.ts), else by a watch
 * on its processes, which sees what has happened up to ten seconds ago. Files are bounded by the kernel one by one, and by
 * a watch on the folders all together. Nothing else bounds the CPU than a control group.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import type { Account } from '../../../../../platform/postgres/embedded/account.ts'
import type { ResourceLimits } from '../../processes/resource-limits.ts'
import { ControlGroup } from './control-group.ts'
import { type Exceeded, fileTooLarge, outOfHeap, tooManyProcesses } from './exceeded.ts'
import { FolderWatch } from './folders.ts'
import type { GroupRecord } from './record.ts'
import { Watch } from './watch.ts'

export type { Exceeded } from './exceeded.ts'

export interface LimitsOptions {
  deploymentId: string
  /** tells one start from another */
  start: string
  bounds: ResourceLimits
  account: Account | null
  /** the account is this deployment's alone: only then its processes can be counted by it */
  ownAccount?: boolean
  /** false: no control group is made, as where we may not. Default: true */
  controlGroups?: boolean
  /** folders that the agent may fill */
  folders: string[]
  /** where its groups are noted, for the next keeper */
  record: GroupRecord
  /** Called when a bound was reached, whether or not the agent goes on; `fatal`: it has to be ended. */
  onExceeded(exceeded: Exceeded, fatal: boolean): void
}

/** How the leader ended, and what it printed last: the lines of TELLING are in it. */
interface End {
  code: number | null
  signal: NodeJS.Signals | null
  output: string
}

export interface Limits {
  /** for /bin/sh, before the command: what a process sets for itself, like `ulimit -f 1024; `. Empty: nothing */
  prelude: string
  /** Called with the leader of the group before it runs anything. */
  enter(pid: number): Promise<void>
  /** Why it ended, if that was a bound; asked once, after its end. */
  explain(end?: End): Exceeded | null
  /** SIGKILL to all that this start has begun and that is known by its group, wherever it went. Never throws. */
  kill(): Promise<void>
  /** Nothing of it is left: removes what was made for it. Never throws. */
  close(): Promise<void>
}

/** of the kernel's choice who has to go when the machine has no memory left: agents before the server and its Postgres */
const OOM_SCORE = '500'

export async function createLimits(options: LimitsOptions): Promise<Limits> {
  const { bounds, deploymentId, start, record } = options
  const name = `${deploymentId}.${start}.${randomBytes(3).toString('hex')}`.replace(/[^\w.-]/g, '_')
  let group = options.controlGroups === false ? null : ControlGroup.create(name, bounds, (folder) => record.add(folder))
  let watch: Watch | null = null
  return {
    prelude: prelude(options, group),
    async enter(pid) {
      try {
        fs.writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE)
      } catch {
        // elsewhere than on Linux; or it has ended, which is found out by others
      }
      try {
        group?.enter(pid)
      } catch {
        // to move a process takes more rights than to make a group
        const unused = group
        group = null
        if (await unused?.remove()) record.remove(name)
      }
      watch = new Watch({
        leader: pid,
        uid: options.ownAccount && options.account ? options.account.uid : null,
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

/** What every shell of POSIX has, in blocks of 512 bytes; the number of processes has two names. */
function prelude({ bounds, ownAccount }: LimitsOptions, group: ControlGroup | null): string {
  const { fileMb, processes } = bounds
  const file = fileMb === null ? '' : `ulimit -f ${Math.max(1, Math.round((fileMb * 1e6) / 512))} 2>/dev/null; `
  // an agent that is replaced still counts while it drains, since it has the same account
  const max = ownAccount && processes !== null && !group?.has('pids') ? processes * 2 : null
  const count = max === null ? '' : `ulimit -u ${max} 2>/dev/null || ulimit -p ${max} 2>/dev/null; `
  return file + count
}

const FILE_LIMIT_PATTERN = /\bEFBIG\b|\bFile too large\b/i
const HEAP_LIMIT_PATTERN = /JavaScript heap out of memory/
const PROCESS_LIMIT_PATTERN = /\bspawn\b.*\bEAGAIN\b|Cannot fork|Resource temporarily unavailable/
/** Lines by which an agent's end is explained; those of a stack come after them. */
export const CAUSE_PATTERN = new RegExp(
  [FILE_LIMIT_PATTERN, HEAP_LIMIT_PATTERN, PROCESS_LIMIT_PATTERN].map(({ source }) => source).join('|'),
  'i',
)

/** What the end itself tells: of these bounds the agent hears, and the kernel counts nothing. */
function explainEnd({ code, signal, output }: End, { fileMb, memoryMb, processes }: ResourceLimits): Exceeded | null {
  if (signal === null && code === 0) return null
  if (fileMb !== null && (signal === 'SIGXFSZ' || code === 128 + 25 || FILE_LIMIT_PATTERN.test(output)))
    return fileTooLarge(fileMb)
  if ((signal === 'SIGABRT' || code === 128 + 6) && HEAP_LIMIT_PATTERN.test(output)) return outOfHeap(memoryMb)
  if (processes !== null && PROCESS_LIMIT_PATTERN.test(output)) return tooManyProcesses(processes, false)
  return null
}
