/** The processes of supervisors and the door on this machine, from /proc (Linux). */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Process ids of a DATA_DIR's supervisors, and of its door; a door that was replaced may still drain. */
export function supervisorsOf(dataDir: string): { keepers: number[]; doors: number[] } {
  const programs = path.join(dataDir, 'bin')
  const running = (name: string) =>
    readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid))
      .map(Number)
      .filter((pid) => argumentsOf(pid).some((word) => word.startsWith(programs) && path.basename(word) === name))
  return { keepers: running('supervisor.mjs'), doors: running('door.mjs') }
}

/** Proportional set size (PSS) of a process in bytes. */
export function pssOf(pid: number): number {
  const [, kiB] = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))!
  return Number(kiB) * 1024
}

/** CPU time of a process in ms. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  // utime and stime, in ticks of 10 ms on every Linux that Node supports
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function argumentsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  } catch {
    return [] // the process has ended
  }
}
