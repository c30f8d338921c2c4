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
}

/** Text of a file below /proc; '' when the process is gone or hidden. */
export function readProc(file: string): string {
  try {
    return fs.readFileSync(`/proc/${file}`, 'latin1')
  } catch {
    return ''
  }
}

const processIds = (): number[] =>
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
  const [parent = 0, group = 0, session = 0] = fields.slice(1, 4).map(Number)
  return text === '' ? null : { pid, state: fields[0] ?? '', parent, group, session, started: fields[19] ?? '' }
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
  return stat && isRunning(stat) ? `${readProc('sys/kernel/random/boot_id').trim()}:${stat.started}` : null
}

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
