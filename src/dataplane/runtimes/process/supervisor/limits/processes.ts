/**
 * Which processes are of one start of an agent, and what they use, where no control group tells: the session of its leader,
 * and whoever came from one of it. What leaves the session and has lost its parent is found only by an account of its own.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { promisify } from 'node:util'

export interface Usage {
  pids: number[]
  /** bytes, swap included. What processes share is counted for each, so that it may be too much: see `together` */
  memory: number
  /** threads, as the kernel counts processes */
  tasks: number
}

interface Process {
  pid: number
  parent: number
  session: number
}

/** `uid`: of this agent alone; null: others share its account. */
export async function usageOf(leader: number, uid: number | null): Promise<Usage> {
  return process.platform === 'linux' ? fromProc(leader, uid) : fromPs(leader)
}

/** Bytes, each shared page counted once, where the system tells that: dearer to ask than `usageOf`. */
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
  // whoever has lost its parent; a build under the same account has not
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

/** macOS: the memory that is in use, without what is compressed or swapped out. */
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
  // pid (name) state parent group session …; the name may itself contain spaces and parentheses
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
    return '' // it is gone
  }
}

const kilobytes = (text: string, name: string) =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024
