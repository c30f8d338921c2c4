/**
 * Ends a whole process group, with whoever has left it, and waits until nobody of it is alive.
 */
import { sleep } from '../../../../platform/async/retry.ts'
import { processesInGroup } from './proc.ts'
import { signalProcesses, taggedProcesses } from './process-tags.mjs'

/** What is ended together. */
export interface GroupId {
  /** number of the process group */
  group: number
  /** of all that its leader starts, wherever it goes; null: who leaves the group is none of ours */
  tag: string | null
}

/** SIGTERM, after `graceMs` SIGKILL. Resolves when no process of the group runs any more; false: some can't be ended. */
export async function endGroup(id: GroupId, graceMs: number): Promise<boolean> {
  const until = performance.now() + graceMs
  signalGroup(id.group, 'SIGTERM')
  signalProcesses(escapedFrom(id), 'SIGTERM')
  if (await waitUntilGone(id, until, null)) return true
  signalGroup(id.group, 'SIGKILL')
  // nothing survives that, but what waits for a disk does not go at once, and what forks has to be met
  return waitUntilGone(id, performance.now() + 5000, 'SIGKILL')
}

/** Whether nobody is alive any more by `until` (performance.now()). Who has left the group gets `signal` each time. */
async function waitUntilGone(id: GroupId, until: number, signal: NodeJS.Signals | null): Promise<boolean> {
  for (let wait = 10; ; wait = Math.min(200, wait * 1.5)) {
    if (!isGroupAlive(id.group)) {
      const escaped = escapedFrom(id)
      if (escaped.length === 0) return true
      if (signal) signalProcesses(escaped, signal)
    }
    const left = until - performance.now()
    if (left <= 0) return false
    await sleep(Math.min(wait, left))
  }
}

function escapedFrom({ tag }: GroupId): number[] {
  return tag === null ? [] : taggedProcesses(new Set([tag]))
}

/** Whether a process of the group runs. Zombies don't count: in a container there may be nobody who ever collects them. */
function isGroupAlive(group: number): boolean {
  if (!signalGroup(group, 0)) return false
  if (process.platform !== 'linux') return true
  return processesInGroup(group).some(({ state }) => state !== 'Z' && state !== 'X')
}

/** false: there is no such group. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
