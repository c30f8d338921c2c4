/** Finds the TCP ports that an agent listens on, for the error message of an agent that does not answer on PORT. */
import fs from 'node:fs'
import { allProcesses, readProc } from './proc.ts'

/** Listening ports of a process group, ascending; null: unknown (not Linux). */
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
