/** What runs on this machine: as far as we are allowed to see it, the path of each process's program and its arguments. */
import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'

/** A line for each process. Throws where that can't be found out. */
export async function commandsThatRun(): Promise<string[]> {
  return process.platform === 'linux' ? fromProc() : fromPs()
}

async function fromProc(): Promise<string[]> {
  const commands: string[] = []
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    // another account's program can't be asked for by an ordinary user; its arguments can. It may end meanwhile
    const program = await readlink(`/proc/${pid}/exe`).catch(() => '')
    const args = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    commands.push(`${program} ${args.replaceAll('\0', ' ')}`)
  }
  return commands
}

async function fromPs(): Promise<string[]> {
  const { stdout } = await promisify(execFile)('/bin/ps', ['-axww', '-o', 'command='], { maxBuffer: 64 * 1024 * 1024 })
  return stdout.split('\n')
}
