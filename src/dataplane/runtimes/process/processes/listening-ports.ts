/** On which TCP ports processes listen: of an agent that does not answer where it should. */
import fs from 'node:fs'
import { processesInGroup } from './proc.ts'

/** Those of a process group, in ascending order; null: not known here, which is not Linux. Never throws. */
export function listeningPorts(group: number): number[] | null {
  if (process.platform !== 'linux') return null
  try {
    const pids = processesInGroup(group).map(({ pid }) => pid)
    return [...new Set(portsOf(pids))].sort((a, b) => a - b)
  } catch {
    return null
  }
}

const LISTEN = '0A'

function portsOf(pids: readonly string[]): number[] {
  const sockets = new Set(pids.flatMap(socketsOf))
  if (sockets.size === 0) return []
  const lines = ['tcp', 'tcp6'].flatMap(
    (table) => unlessGone(() => fs.readFileSync(`/proc/net/${table}`, 'utf8'))?.split('\n') ?? [],
  )
  return lines.flatMap((line) => {
    // number, local address as hex `ADDRESS:PORT`, remote address, state …, and the inode as the tenth
    const columns = line.trim().split(/\s+/)
    if (columns[3] !== LISTEN || !sockets.has(columns[9] ?? '')) return []
    return [Number.parseInt(columns[1]!.split(':')[1]!, 16)]
  })
}

/** Inodes of the sockets that it has open. */
function socketsOf(pid: string): string[] {
  const folder = `/proc/${pid}/fd`
  const files = unlessGone(() => fs.readdirSync(folder)) ?? []
  return files.flatMap((file) => {
    const target = unlessGone(() => fs.readlinkSync(`${folder}/${file}`)) ?? ''
    return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []
  })
}

/** Null also for what is another account's. */
function unlessGone<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
