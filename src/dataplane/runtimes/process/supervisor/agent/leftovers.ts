/** What a keeper that was killed has left running. */
import { sleep } from '../../../../../platform/async/retry.ts'
import { SUPERVISOR_VARIABLE, signalProcesses, taggedProcesses } from '../../os/process-tags.mjs'

/** how long what was killed may take to go */
const GOES_MS = 5000

/** Kills all that has the tag of this supervisor; resolves when nobody of it is left, or can be ended. */
export async function endLeftovers(tag: string): Promise<void> {
  const until = performance.now() + GOES_MS
  for (let wait = 10; performance.now() < until; wait = Math.min(200, wait * 1.5)) {
    const left = taggedProcesses(new Set([tag]), SUPERVISOR_VARIABLE).filter((pid) => pid !== process.pid)
    if (left.length === 0) return
    signalProcesses(left, 'SIGKILL')
    await sleep(wait)
  }
}
