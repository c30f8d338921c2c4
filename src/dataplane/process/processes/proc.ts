/** Reads process data from /proc, see proc(5). Other systems have no /proc: results are empty or null. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'

export interface ProcessStat {
  pid: number
  /** one letter: R running, S sleeping, Z zombie, … */
  state: string
  parent: number
  group: number
  session: number
  /** kernel start time; process ids are reused */
  started: string
  /** CPU time of it and of ended children that it waited for, in clock ticks */
  ticks: number
  /** resident memory */
  pages: number
}

/** Text of a file below /proc; '' when the process is gone or hidden. */
export function readProc(file: string): string {
  try {
    return fs.readFileSync(`/proc/${file}`, 'latin1')
  } catch {
    return ''
  }
}

export const processIds = (): number[] =>
  process.platform === 'linux'
    ? fs
        .readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map(Number)
    : []

export function processStat(pid: number): ProcessStat | null {
  const text = readProc(`${pid}/stat`)
  // pid (name) state parent group session …; the name can contain spaces and parentheses
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  if (text === '') return null
  const [parent = 0, group = 0, session = 0] = fields.slice(1, 4).map(Number)
  const ticks = fields.slice(11, 15).reduce((sum, part) => sum + Number(part), 0)
  return {
    pid,
    state: fields[0] ?? '',
    parent,
    group,
    session,
    started: fields[19] ?? '',
    ticks,
    pages: Number(fields[21] ?? 0),
  }
}

export const allProcesses = (): ProcessStat[] => processIds().flatMap((pid) => processStat(pid) ?? [])

/** Processes by uid, without zombies. A process is listed under each uid that it runs as or can switch to. */
export function processesByUser(): Map<number, number[]> {
  const found = new Map<number, number[]>()
  for (const pid of processIds()) {
    const status = readProc(`${pid}/status`)
    if (/^State:\s+[ZX]/m.test(status)) continue
    const uids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/).map(Number)
    for (const uid of new Set(uids)) found.set(uid, [...(found.get(uid) ?? []), pid])
  }
  return found
}

/** Start time of a process as one word, unique for its process id on this machine; null: the process is gone. */
export function processIdentity(pid: number): string | null {
  if (process.platform !== 'linux') return identityFromPs(pid)
  const stat = processStat(pid)
  // a zombie no longer runs; the kernel counts start times from boot, so the boot id is part of the identity
  return stat && isRunning(stat) ? `${bootId()}:${stat.started}` : null
}

export const bootId = (): string => readProc('sys/kernel/random/boot_id').trim()

export const isRunning = ({ state }: ProcessStat): boolean => state !== 'Z' && state !== 'X'

function identityFromPs(pid: number): string | null {
  try {
    const output = execFileSync('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return String(output).trim().replaceAll(/\s+/g, '-') || null
  } catch {
    return null
  }
}

/** TCP ports that a process group listens on, ascending; null: unknown (not Linux). */
export function listeningPorts(group: number): number[] | null {
  if (process.platform !== 'linux') return null
  const pids = allProcesses().flatMap((stat) => (stat.group === group ? stat.pid : []))
  return [...new Set(portsOf(pids))].sort((a, b) => a - b)
}

const LISTEN = '0A'

function portsOf(pids: readonly number[]): number[] {
  const sockets = new Set(pids.flatMap(socketsOf))
  if (sockets.size === 0) return []
  const lines = ['tcp', 'tcp6'].flatMap((table) => readProc(`net/${table}`).split('\n'))
  return lines.flatMap((line) => {
    // columns: number, local address as hex `ADDRESS:PORT`, remote address, state, …; the tenth is the inode
    const columns = line.trim().split(/\s+/)
    if (columns[3] !== LISTEN || !sockets.has(columns[9] ?? '')) return []
    return [Number.parseInt(columns[1]!.split(':')[1]!, 16)]
  })
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  return (unlessGone(() => fs.readdirSync(folder)) ?? []).flatMap((file) => {
    const target = unlessGone(() => fs.readlinkSync(`${folder}/${file}`)) ?? ''
    return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []
  })
}

function unlessGone<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
