/** Ends processes and waits until all are gone. */
import { sleep } from '../../../platform/async/retry.ts'
import { allProcesses, isRunning } from './proc.ts'
import { signalProcesses, taggedProcesses } from './process-tags.mjs'

export interface GroupId {
  group: number
  /** tag in the environment of every process that the leader starts; null: processes that leave the group are not tracked */
  tag: string | null
}

/** time for processes that left the group when the group itself is gone */
const LEAVERS_GRACE_MS = 10_000

/**
 * Ends a process group, including processes that left it: sends SIGTERM, and SIGKILL after `graceMs`. Resolves like `killAll`.
 */
export async function endGroup({ group, tag }: GroupId, graceMs: number): Promise<boolean> {
  const since = performance.now()
  let until = since + graceMs
  const tagged = () => (tag === null ? [] : taggedProcesses(new Set([tag])))
  const find = () => {
    if (isGroupAlive(group)) return [-group]
    until = Math.min(until, performance.now() + LEAVERS_GRACE_MS)
    return tagged()
  }
  signalProcesses([-group, ...tagged()], 'SIGTERM')
  for (let wait = 10; find().length > 0 && performance.now() < until; ) {
    await sleep(Math.min(wait, until - performance.now()))
    // each look reads /proc, and an agent may take an hour to finish its runs
    wait = Math.min(performance.now() - since < 10_000 ? 200 : 2000, wait * 1.5)
  }
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
