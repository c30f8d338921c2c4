/** CPU and memory of all agents, from their control groups, or else from one read of the machine's processes. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ControlGroup } from './isolation/control-group.ts'
import { processIds, processStat, readProc } from './processes/proc.ts'

/** Processes that are read before other work of the server gets its turn. */
const READ_AT_ONCE = 100
/** The unit of CPU times in /proc on every architecture of Linux. */
const TICKS_PER_SECOND = 100

interface Process {
  pid: number
  parent: number
  session: number
  /** since the boot, in seconds */
  started: number
  /** CPU time of it and of ended children that it waited for */
  cpuSeconds: number
  memory: number
}

export interface Usage {
  /** since the last call; null: it ran before that, but was not measured */
  cpuSeconds: number | null
  /** in bytes. Without a control group, pages that processes share count once for each. */
  memory: number
}

export class ProcessUsage {
  /** CPU seconds since the start, by process id and start of the leader */
  #before = new Map<string, { total: number; group: ControlGroup | null }>()
  /** of the last call, in seconds since the boot */
  #at = Number.POSITIVE_INFINITY

  /** By leader of the agents' process groups. An agent is its leader's session and all descendants. */
  async measure(leaders: readonly number[]): Promise<Map<number, Usage>> {
    if (leaders.length === 0) return new Map()
    const { all, now } = process.platform === 'linux' ? await readLinux() : await readPs()
    const byPid = new Map(all.map((one) => [one.pid, one]))
    const sums = new Map<number, { cpuSeconds: number; memory: number }>()
    for (const pid of leaders) if (byPid.has(pid)) sums.set(pid, { cpuSeconds: 0, memory: 0 })
    const leaderOf = (one: Process | undefined, depth = 0): number | undefined => {
      if (!one || depth > 100) return undefined
      const { pid, session, parent } = one
      return sums.has(pid) ? pid : sums.has(session) ? session : leaderOf(byPid.get(parent), depth + 1)
    }
    for (const one of all) {
      const sum = sums.get(leaderOf(one) ?? 0)
      if (!sum) continue
      sum.cpuSeconds += one.cpuSeconds
      sum.memory += one.memory
    }
    const before = this.#before
    const at = this.#at
    this.#before = new Map()
    this.#at = now
    const found = [...sums].map(([pid, sum]): [number, Usage] => {
      const { started } = byPid.get(pid)!
      const key = `${pid} ${started}`
      const known = before.get(key)
      const group = known ? known.group : ControlGroup.of(pid)
      const counted = group?.usage()
      // without a group, the CPU time of a child that its parent did not wait for is lost
      const total = counted?.cpuSeconds ?? sum.cpuSeconds
      const last = known?.total ?? (started >= at ? 0 : null)
      this.#before.set(key, { total, group })
      return [
        pid,
        { cpuSeconds: last === null ? null : Math.max(0, total - last), memory: counted?.memory ?? sum.memory },
      ]
    })
    return new Map(found)
  }
}

async function readLinux(): Promise<{ all: Process[]; now: number }> {
  const now = Number(readProc('uptime').split(' ')[0])
  const all: Process[] = []
  const pids = processIds()
  for (let from = 0; from < pids.length; from += READ_AT_ONCE) {
    if (from > 0) await new Promise(setImmediate)
    for (const pid of pids.slice(from, from + READ_AT_ONCE)) {
      const stat = processStat(pid)
      if (!stat) continue
      const { parent, session, started, ticks, pages } = stat
      const [cpuSeconds, memory] = [ticks / TICKS_PER_SECOND, pages * pageBytes()]
      all.push({ pid, parent, session, started: Number(started) / TICKS_PER_SECOND, cpuSeconds, memory })
    }
  }
  return { all, now }
}

let bytesOfPage = 0

/** Node does not tell it: the kernel shows this process's memory in pages and in kB. */
function pageBytes(): number {
  if (bytesOfPage > 0) return bytesOfPage
  const pages = Number(readProc('self/statm').split(' ')[1])
  bytesOfPage = 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages))
  return bytesOfPage
}

/** macOS. The start of a process is unknown, so its first CPU time does not count. */
async function readPs(): Promise<{ all: Process[]; now: number }> {
  const columns = 'pid=,ppid=,pgid=,rss=,cputime='
  const { stdout } = await promisify(execFile)('/bin/ps', ['-axo', columns], { timeout: 10_000, maxBuffer: 2 ** 26 })
  const all = stdout.split('\n').flatMap((line): Process[] => {
    const [pid, parent, session, kilobytes, time = ''] = line.trim().split(/\s+/)
    // hours:minutes:seconds, with fewer parts for a short time
    const cpuSeconds = time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
    if (!pid) return []
    const numbers = { pid: Number(pid), parent: Number(parent), session: Number(session) }
    return [{ ...numbers, started: 0, cpuSeconds, memory: Number(kilobytes) * 1024 }]
  })
  return { all, now: 1 }
}
