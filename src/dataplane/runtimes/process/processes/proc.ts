/**
 * What Linux says of processes in /proc, see proc(5). On other systems there is none, and nothing is known.
 */
import fs from 'node:fs'

export interface ProcessStat {
  /** one letter: R runs, S sleeps, Z is a zombie … */
  state: string
  /** number of the process group */
  group: number
  /** when it started, as the kernel counts; a number can be given to another process later */
  started: string
}

/** Null: there is no such process (any more). */
export function processStat(pid: number | string): ProcessStat | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // pid (name) state parent group …; the name may itself contain spaces and parentheses
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', group: Number(fields[2]), started: fields[19] ?? '' }
  } catch {
    return null
  }
}

/** The processes of a group, also those that have ended and were not collected yet. */
export function processesInGroup(group: number): (ProcessStat & { pid: string })[] {
  return fs.readdirSync('/proc').flatMap((pid) => {
    const stat = /^\d+$/.test(pid) ? processStat(pid) : null
    return stat?.group === group ? [{ pid, ...stat }] : []
  })
}

/** Processes by user: each is in the list of every user that it runs as, or could become. Without those that have ended. */
export function processesByUser(): Map<number, number[]> {
  const found = new Map<number, number[]>()
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    for (const uid of usersOf(name)) found.set(uid, [...(found.get(uid) ?? []), Number(name)])
  }
  return found
}

function usersOf(pid: string): Set<number> {
  try {
    const status = fs.readFileSync(`/proc/${pid}/status`, 'latin1')
    // one that has ended waits to be collected, in a container perhaps for ever
    if (/^State:\s+[ZX]/m.test(status)) return new Set()
    return new Set(/^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/).map(Number))
  } catch {
    return new Set() // it is gone
  }
}
