/**
 * Finds the processes of an agent without a control group: its session and all descendants. A process that left both
 * is found only if the agent has its own account.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { promisify } from 'node:util'
import { allProcesses, type ProcessStat, readProc } from '../processes/proc.ts'

export interface Usage {
  pids: number[]
  /** Bytes with swap. Shared pages count once for each process, so it may be too high: see `proportionalBytes`. */
  memory: number
  /** threads, as the kernel counts them against the limit */
  tasks: number
}

type Process = Pick<ProcessStat, 'pid' | 'parent' | 'session'>

/** `uid`: account of this agent only; null: other agents share it. */
export async function usageOf(leader: number, uid: number | null): Promise<Usage> {
  return process.platform === 'linux' ? fromProc(leader, uid) : fromPs(leader)
}

/** Bytes with each shared page counted once, on Linux. More expensive than `usageOf`. */
export function proportionalBytes({ pids, memory }: Usage): number {
  if (process.platform !== 'linux') return memory
  const rollups = pids.map((pid) => readProc(`${pid}/smaps_rollup`))
  return rollups.reduce((sum, text) => sum + kilobytes(text, 'Pss') + kilobytes(text, 'SwapPss'), 0)
}

function fromProc(leader: number, uid: number | null): Usage {
  const uidOf = (pid: number) => fs.statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid
  // processes that lost their parent; a build under the same account still has one
  const isLost = ({ pid, parent }: Process) => uid !== null && parent === 1 && uidOf(pid) === uid
  const pids = processTree(leader, allProcesses(), isLost)
  const statuses = pids.map((pid) => readProc(`${pid}/status`))
  return {
    pids,
    memory: statuses.reduce((sum, text) => sum + kilobytes(text, 'VmRSS') + kilobytes(text, 'VmSwap'), 0),
    tasks: statuses.reduce((sum, text) => sum + Number(/^Threads:\s+(\d+)/m.exec(text)?.[1] ?? 0), 0),
  }
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

const kilobytes = (text: string, name: string) =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024
