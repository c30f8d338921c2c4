/** Reads process data from /proc, see proc(5). Other systems have no /proc: results are empty or null. */
import fs from 'node:fs'

export interface ProcessStat {
  /** one letter: R running, S sleeping, Z zombie, … */
  state: string
  group: number
  /** kernel start time; process ids are reused */
  started: string
}

export function processStat(pid: number | string): ProcessStat | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // pid (name) state parent group …; the name can contain spaces and parentheses
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', group: Number(fields[2]), started: fields[19] ?? '' }
  } catch {
    return null
  }
}

export function processesInGroup(group: number): (ProcessStat & { pid: string })[] {
  return fs.readdirSync('/proc').flatMap((pid) => {
    const stat = /^\d+$/.test(pid) ? processStat(pid) : null
    return stat?.group === group ? [{ pid, ...stat }] : []
  })
}

/** Processes by uid, without zombies. A process is listed under each uid that it runs as or can switch to. */
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
    if (/^State:\s+[ZX]/m.test(status)) return new Set()
    return new Set(/^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/).map(Number))
  } catch {
    return new Set() // the process is gone
  }
}
