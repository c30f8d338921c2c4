/**
 * Ends a whole process group and waits until nobody of it is alive.
 */
import fs from 'node:fs'
import { sleep } from '../../backoff.ts'

/** SIGTERM, after `graceMs` SIGKILL. Resolves when no process of the group runs any more. */
export async function endGroup(group: number, graceMs: number): Promise<void> {
  const until = performance.now() + graceMs
  signalGroup(group, 'SIGTERM')
  if (await goes(group, until)) return
  signalGroup(group, 'SIGKILL')
  // nothing survives that, but what waits for a disk does not go at once
  await goes(group, performance.now() + 5000)
}

/** Whether nobody of the group is alive any more by `until` (performance.now()). */
async function goes(group: number, until: number): Promise<boolean> {
  for (let wait = 10; isGroupAlive(group); wait = Math.min(200, wait * 1.5)) {
    const left = until - performance.now()
    if (left <= 0) return false
    await sleep(Math.min(wait, left))
  }
  return true
}

/** Whether a process of the group runs. Zombies don't count: in a container there may be nobody who ever collects them. */
function isGroupAlive(group: number): boolean {
  if (!signalGroup(group, 0)) return false
  if (process.platform !== 'linux') return true
  return fs.readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && runsIn(group, pid))
}

function runsIn(group: number, pid: string): boolean {
  try {
    // proc(5): pid (name) state parent group …; the name may itself contain spaces and parentheses
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, , its] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(its) === group && state !== 'Z' && state !== 'X'
  } catch {
    return false // it is gone
  }
}

/** false: there is no such group. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
