/** The supervisor processes on this machine, from /proc (Linux). */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

export interface SupervisorProcesses {
  keeper: number
  /** its child that listens on the stable address */
  network: number
}

/** All supervisors of a DATA_DIR. */
export function supervisorsOf(dataDir: string): SupervisorProcesses[] {
  const programs = path.join(dataDir, 'bin')
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? read(Number(name)) : []))
  const ours = all.filter(({ argv }) => argv.some((word) => word.startsWith(programs) && word.endsWith('.mjs')))
  return ours.flatMap(({ pid, parent, argv }) => {
    if (argv.at(-1) !== 'network') return []
    return ours.some((one) => one.pid === parent) ? { keeper: parent, network: pid } : []
  })
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

function read(pid: number): { pid: number; parent: number; argv: string[] }[] {
  try {
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
    const parent = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
    return [{ pid, parent, argv }]
  } catch {
    return [] // the process has ended
  }
}
