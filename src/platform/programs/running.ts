/** Lists the processes of this machine that this account can see. */
import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'

export interface RunningProcess {
  parent: number
  /** program path, if known, and arguments */
  command: string
}

/** Throws when processes can't be listed. */
export async function runningProcesses(): Promise<RunningProcess[]> {
  return process.platform === 'linux' ? fromProc() : fromPs()
}

async function fromProc(): Promise<RunningProcess[]> {
  const found: RunningProcess[] = []
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    const [stat, program, args] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8').catch(hidden),
      readlink(`/proc/${pid}/exe`).catch(hidden),
      readFile(`/proc/${pid}/cmdline`, 'utf8').catch(hidden),
    ])
    // pid (name) state parent …; the name may itself contain spaces and parentheses
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    found.push({ parent, command: `${program} ${args.replaceAll('\0', ' ')}` })
  }
  return found
}

/**
 * Returns '' when the process has ended, or belongs to another account. An ordinary user can read arguments, but not the
 * program.
 */
function hidden(error: NodeJS.ErrnoException): string {
  if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(error.code ?? '')) return ''
  throw error
}

async function fromPs(): Promise<RunningProcess[]> {
  const options = { maxBuffer: 64 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)('/bin/ps', ['-axww', '-o', 'ppid=,command='], options)
  return stdout.split('\n').map((line) => ({ parent: Number.parseInt(line, 10), command: line.replace(/^ *\d+ /, '') }))
}
