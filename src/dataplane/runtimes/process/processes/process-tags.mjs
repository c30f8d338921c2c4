/**
 * Finds processes that have left the group they were started in (`setsid`), by a tag in their environment that only
 * what was started with it can have. Plain JavaScript: the reaper's own process uses it, too.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'

/** The variable of the tag: one for each group. */
export const TAG_VARIABLE = 'PILOTHOUSE_PROCESS_GROUP'
/** The variable of the tag that all have which one supervisor starts. */
export const SUPERVISOR_VARIABLE = 'PILOTHOUSE_SUPERVISOR'

/** characters of a tag: those of a UUID */
const LENGTH = 36

/** The processes that carry one of these tags in that variable; of all others nothing is known. */
export function taggedProcesses(tags, variable = TAG_VARIABLE) {
  if (tags.size === 0) return []
  return process.platform === 'linux' ? fromProc(tags, variable) : fromPs(tags, variable)
}

function fromProc(tags, variable) {
  return fs.readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      // as it was when the program was started, so that nobody can get a tag later. Empty for zombies.
      return carries(`\0${fs.readFileSync(`/proc/${name}/environ`, 'latin1')}`, '\0', tags, variable)
        ? [Number(name)]
        : []
    } catch {
      return [] // it is gone, or another account's
    }
  })
}

/** macOS: there the command line and the environment stand in one line. */
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

/** Sends a signal; a process that is gone by now is none. */
export function signalProcesses(pids, signal) {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // it is gone
    }
  }
}
