/**
 * On which TCP ports the processes of a group listen: for an agent that does not answer where it should. Read off
 * proc(5), so on Linux alone; elsewhere nobody is told.
 */
import fs from 'node:fs/promises'

/** In ascending order; null: it can't be told here. Never throws. */
export async function listeningPorts(group: number): Promise<number[] | null> {
  if (process.platform !== 'linux') return null
  try {
    const pids = (await fs.readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const own = (await Promise.all(pids.map(async (pid) => ((await isOf(group, pid)) ? [pid] : [])))).flat()
    const sockets = new Set((await Promise.all(own.map(socketsOf))).flat())
    const tables = await Promise.all(
      ['tcp', 'tcp6'].map((table) => fs.readFile(`/proc/net/${table}`, 'utf8').catch(() => '')),
    )
    const ports = tables.flatMap((table) => table.split('\n').flatMap((line) => portOf(line, sockets)))
    return [...new Set(ports)].sort((a, b) => a - b)
  } catch {
    return null
  }
}

async function isOf(group: number, pid: string): Promise<boolean> {
  const stat = await fs.readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // pid (name) state parent group …; the name may itself contain spaces and parentheses
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]) === group
}

/** Inodes of the sockets that it has open. */
async function socketsOf(pid: string): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const files = await fs.readdir(folder).catch(() => [])
  const targets = await Promise.all(files.map((file) => fs.readlink(`${folder}/${file}`).catch(() => '')))
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [])
}

const LISTEN = '0A'

/** Columns: number, local address as hex `ADDRESS:PORT`, remote address, state …, and the inode as the tenth. */
function portOf(line: string, sockets: ReadonlySet<string>): number[] {
  const columns = line.trim().split(/\s+/)
  if (columns[3] !== LISTEN || !sockets.has(columns[9] ?? '')) return []
  return [Number.parseInt(columns[1]!.split(':')[1]!, 16)]
}
