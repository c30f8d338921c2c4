/** Ends a process group, including processes that left it, and waits until all are gone. */
import { sleep } from '../../../platform/async/retry.ts'
import { allProcesses, isRunning } from './proc.ts'
import { signalProcesses, taggedProcesses } from './process-tags.mjs'

export interface GroupId {
  group: number
  /** tag in the environment of every process that the leader starts; null: processes that leave the group are not tracked */
  tag: string | null
}

/** Sends SIGTERM, and SIGKILL after `graceMs`. Resolves to true when no process is left, to false when some survive. */
export async function endGroup(id: GroupId, graceMs: number): Promise<boolean> {
  const until = performance.now() + graceMs
  signalGroup(id.group, 'SIGTERM')
  signalProcesses(escapedFrom(id), 'SIGTERM')
  if (await waitUntilGone(id, until, null)) return true
  signalGroup(id.group, 'SIGKILL')
  // SIGKILL can't be ignored, but a process that waits for a disk ends late, and one that forks has to be found again
  return waitUntilGone(id, performance.now() + 5000, 'SIGKILL')
}

/**
 * Resolves to true when no process is left, to false at `until` (performance.now()). Repeats `signal` to processes that left the
 * group.
 */
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

/** Whether a process of the group runs. Zombies don't count: in a container their parent may never collect them. */
function isGroupAlive(group: number): boolean {
  if (!signalGroup(group, 0)) return false
  if (process.platform !== 'linux') return true
  return allProcesses().some((stat) => stat.group === group && isRunning(stat))
}

function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Sends SIGKILL until `find` finds no process, and calls `also` after each round. Resolves to false when some are left after
 * `ms`: a process that waits for a disk ends late.
 */
export async function killAll(
  find: () => number[],
  ms: number,
  also: () => Promise<void> = async () => undefined,
): Promise<boolean> {
  const until = performance.now() + ms
  for (let wait = 10; ; wait = Math.min(200, wait * 1.5)) {
    const left = find()
    if (left.length === 0) return true
    if (performance.now() > until) return false
    signalProcesses(left, 'SIGKILL')
    await also()
    await sleep(wait)
  }
}
