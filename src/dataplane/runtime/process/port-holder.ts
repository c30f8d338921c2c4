/**
 * Which server of this DATA_DIR listens on a port. One that hangs gives its deployments up only in the database: its
 * sockets stay, and whoever takes over finds the addresses in use.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { livingHolders } from './holders.ts'

/** Its process id; null: none of those that are known here. `workers`: see layout.ts. */
export function serverOnPort(workers: string, port: number): number | null {
  const others = new Set(livingHolders(workers).filter((pid) => pid !== process.pid))
  return [...others].find((pid) => listens(pid, port)) ?? null
}

function listens(pid: number, port: number): boolean {
  try {
    return process.platform === 'linux' ? inProc(pid, port) : byLsof(pid, port)
  } catch {
    return false // it is gone, or another account's
  }
}

/** proc(5): each line of `net/tcp` has local address, remote address, state (0A: listens) … and, tenth, the inode. */
function inProc(pid: number, port: number): boolean {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const inodes = new Set(
    ['tcp', 'tcp6']
      .flatMap((table) => fs.readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n'))
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === '0A' && local?.endsWith(suffix))
      .map((fields) => `socket:[${fields[9]}]`),
  )
  const folder = `/proc/${pid}/fd`
  return inodes.size > 0 && fs.readdirSync(folder).some((fd) => inodes.has(fs.readlinkSync(`${folder}/${fd}`)))
}

/** macOS. It exits with 1 when there is none. */
function byLsof(pid: number, port: number): boolean {
  execFileSync('/usr/sbin/lsof', ['-nP', '-a', '-p', String(pid), `-iTCP:${port}`, '-sTCP:LISTEN'], { stdio: 'ignore' })
  return true
}
