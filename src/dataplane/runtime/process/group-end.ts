/**
 * Ends a whole process group, with whoever has left it, and waits until nobody of it is alive.
 */
import fs from 'node:fs'
import { sleep } from '../../backoff.ts'
import { markedProcesses, signalProcesses } from './marked.mjs'

/** What is ended together. */
export interface GroupId {
  /** number of the process group */
  group: number
  /** of all that its leader starts, wherever it goes; null: who leaves the group is none of ours */
  mark: string | null
}

/** SIGTERM, after `graceMs` SIGKILL. Resolves when no process of the group runs any more; false: some can't be ended. */
export async function endGroup(id: GroupId, graceMs: number): Promise<boolean> {
  const until = performance.now() + graceMs
  signalGroup(id.group, 'SIGTERM')
  signalProcesses(leaversOf(id), 'SIGTERM')
  if (await goes(id, until, null)) return true
  signalGroup(id.group, 'SIGKILL')
  // nothing survives that, but what waits for a disk does not go at once, and what forks has to be met
  return goes(id, performance.now() + 5000, 'SIGKILL')
}

/** Whether nobody is alive any more by `until` (performance.now()). Who has left the group gets `signal` each time. */
async function goes(id: GroupId, until: number, signal: NodeJS.Signals | null): Promise<boolean> {
  for (let wait = 10; ; wait = Math.min(200, wait * 1.5)) {
    if (!isGroupAlive(id.group)) {
      const leavers = leaversOf(id)
      if (leavers.length === 0) return true
      if (signal) signalProcesses(leavers, signal)
    }
    const left = until - performance.now()
    if (left <= 0) return false
    await sleep(Math.min(wait, left))
  }
}

function leaversOf({ mark }: GroupId): number[] {
  return mark === null ? [] : markedProcesses(new Set([mark]))
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
