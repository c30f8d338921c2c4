/**
 * Finds processes that left their process group (`setsid`) by a tag in their environment, which children inherit. Plain
 * JavaScript, because the reaper's process runs it directly.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'

export const TAG_VARIABLE = 'PILOTHOUSE_PROCESS_GROUP'
export const SUPERVISOR_VARIABLE = 'PILOTHOUSE_SUPERVISOR'

const LENGTH = 36

/** Processes whose environment has one of these tags in `variable`. Processes of other accounts may be invisible. */
export function taggedProcesses(tags, variable = TAG_VARIABLE) {
  if (tags.size === 0) return []
  return process.platform === 'linux' ? fromProc(tags, variable) : fromPs(tags, variable)
}

function fromProc(tags, variable) {
  return fs.readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      // the environment at the start of the program, so a process can't adopt a tag later; empty for zombies
      return carries(`\0${fs.readFileSync(`/proc/${name}/environ`, 'latin1')}`, '\0', tags, variable)
        ? [Number(name)]
        : []
    } catch {
      return [] // the process is gone or belongs to another account
    }
  })
}

function fromPs(tags, variable) {
  const options = { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'] }
  const output = execFileSync('/bin/ps', ['-axeww', '-o', 'pid=,command='], options)
  return output.split('\n').flatMap((line) => (carries(line, ' ', tags, variable) ? [Number.parseInt(line, 10)] : []))
}

function carries(environment, before, tags, variable) {
  const name = `${before}${variable}=`
  const at = environment.indexOf(name)
  return at >= 0 && tags.has(environment.slice(at + name.length, at + name.length + LENGTH))
}

export function signalProcesses(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // the process is gone
    }
  }
}
