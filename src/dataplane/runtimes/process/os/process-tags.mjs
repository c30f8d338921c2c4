/**
 * Finds processes that have left the group they were started in (`setsid`), by a tag in their environment that only
 * what was started with it can have. Plain JavaScript: the reaper's own process uses it, too.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'

/** The variable of the tag. */
export const TAG_VARIABLE = 'PILOTHOUSE_PROCESS_GROUP'

/** a UUID */
const LENGTH = 36

/** The processes that carry one of these tags; of all others nothing is known. */
export function taggedProcesses(tags) {
  if (tags.size === 0) return []
  return process.platform === 'linux' ? fromProc(tags) : fromPs(tags)
}

function fromProc(tags) {
  return fs.readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      // as it was when the program was started, so that nobody can get a tag later. Empty for zombies.
      return carries(`\0${fs.readFileSync(`/proc/${name}/environ`, 'latin1')}`, '\0', tags) ? [Number(name)] : []
    } catch {
      return [] // it is gone, or another account's
    }
  })
}

/** macOS: there the command line and the environment stand in one line. */
function fromPs(tags) {
  const options = { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'ignore'] }
  const output = execFileSync('/bin/ps', ['-axeww', '-o', 'pid=,command='], options)
  return output.split('\n').flatMap((line) => (carries(line, ' ', tags) ? [Number.parseInt(line, 10)] : []))
}

function carries(environment, before, tags) {
  const name = `${before}${TAG_VARIABLE}=`
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
