/** Ends processes and waits until all are gone. */
import { sleep } from '../../../platform/async/retry.ts'
import { allProcesses, isRunning } from './proc.ts'
import { signalProcesses, taggedProcesses } from './process-tags.mjs'

export interface GroupId {
  group: number
  /** tag in the environment of every process that the leader starts; null: processes that leave the group are not tracked */
  tag: string | null
}

/**
 * Ends a process group, including processes that left it: sends SIGTERM, and SIGKILL after `graceMs`. Resolves like `killAll`.
 */
export async function endGroup({ group, tag }: GroupId, graceMs: number): Promise<boolean> {
  const until = performance.now() + graceMs
  const tagged = () => (tag === null ? [] : taggedProcesses(new Set([tag])))
  const find = () => (isGroupAlive(group) ? [-group] : tagged())
  signalProcesses([-group, ...tagged()], 'SIGTERM')
  for (let wait = 10; find().length > 0 && performance.now() < until; wait = Math.min(200, wait * 1.5))
    await sleep(Math.min(wait, until - performance.now()))
  return killAll(find)
}

/** Whether a process of the group runs. Zombies don't count: in a container their parent may never collect them. */
function isGroupAlive(group: number): boolean {
  try {
    process.kill(-group, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return process.platform !== 'linux' || allProcesses().some((stat) => stat.group === group && isRunning(stat))
}

/**
 * Sends SIGKILL until `find` finds no process (a negative number is a group), and calls `also` after each round: a process that
 * forks has to be found again. Resolves to false when some are left after `ms`: a process that waits for a disk ends late.
 */
export async function killAll(
  find: () => number[],
  ms = 5000,
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
