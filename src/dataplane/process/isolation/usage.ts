/**
 * Finds the processes of an agent without a control group: its session and all descendants. A process that left both
 * is found only if the agent has its own account.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { promisify } from 'node:util'

export interface Usage {
  pids: number[]
  /** Bytes with swap. Shared pages count once for each process, so it may be too high: see `proportionalBytes`. */
  memory: number
  /** threads, as the kernel counts them against the limit */
  tasks: number
}

interface Process {
  pid: number
  parent: number
  session: number
}

/** `uid`: account of this agent only; null: other agents share it. */
export async function usageOf(leader: number, uid: number | null): Promise<Usage> {
  return process.platform === 'linux' ? fromProc(leader, uid) : fromPs(leader)
}

/** Bytes with each shared page counted once, on Linux. More expensive than `usageOf`. */
export function proportionalBytes({ pids, memory }: Usage): number {
  return process.platform === 'linux' ? sumProportional(pids) : memory
}

function sumProportional(pids: number[]): number {
  let bytes = 0
  for (const pid of pids) {
    const text = read(`/proc/${pid}/smaps_rollup`)
    bytes += kilobytes(text, 'Pss') + kilobytes(text, 'SwapPss')
  }
  return bytes
}

function fromProc(leader: number, uid: number | null): Usage {
  const all = fs.readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (statOf(Number(name)) ?? []) : []))
  // processes that lost their parent; a build under the same account still has one
  const pids = processTree(leader, all, ({ pid, parent }) => uid !== null && parent === 1 && uidOf(pid) === uid)
  let memory = 0
  let tasks = 0
  for (const pid of pids) {
    const text = read(`/proc/${pid}/status`)
    memory += kilobytes(text, 'VmRSS') + kilobytes(text, 'VmSwap')
    tasks += Number(/^Threads:\s+(\d+)/m.exec(text)?.[1] ?? 0)
  }
  return { pids, memory, tasks }
}

/** macOS: resident memory only; compressed and swapped pages are missing. */
async function fromPs(leader: number): Promise<Usage> {
  const { stdout } = await promisify(execFile)('/bin/ps', ['-axo', 'pid=,ppid=,pgid=,rss='], { timeout: 10_000 })
  const rows = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const all = rows.map(([pid = 0, parent = 0, session = 0]) => ({ pid, parent, session }))
  const pids = processTree(leader, all, () => false)
  const found = new Set(pids)
  const memory = rows.reduce((sum, [pid = 0, , , rss = 0]) => sum + (found.has(pid) ? rss * 1024 : 0), 0)
  return { pids, memory, tasks: pids.length }
}

function processTree(leader: number, all: Process[], isLost: (process: Process) => boolean): number[] {
  const first = all.filter((each) => each.pid === leader || each.session === leader || isLost(each))
  const found = new Set(first.map(({ pid }) => pid))
  for (let size = -1; size !== found.size; ) {
    size = found.size
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid)
  }
  return [...found]
}

function statOf(pid: number): Process | null {
  const stat = read(`/proc/${pid}/stat`)
  // fields: pid (name) state parent group session …; the name may contain spaces and parentheses
  const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return stat === '' ? null : { pid, parent: Number(parent), session: Number(session) }
}

function uidOf(pid: number): number | null {
  return fs.statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? null
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'latin1')
  } catch {
    return '' // the process has ended
  }
}

const kilobytes = (text: string, name: string) =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024
