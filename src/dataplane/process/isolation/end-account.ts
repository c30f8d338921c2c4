/** Ends all processes of an account that belongs to one deployment, in any group, session or namespace. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { sleep } from '../../../platform/async/retry.ts'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import { processesByUser } from '../processes/proc.ts'
import { signalProcesses } from '../processes/process-tags.mjs'
import { isReserved } from './reservations.ts'

/** a process that waits for a disk ends late */
const END_TIMEOUT_MS = 10_000

/**
 * Sends SIGKILL until no process is left; for root on Linux. A process that forks faster than /proc can be read is caught by
 * `kill -1`, which the kernel delivers to all at the same time. A process that kills that sender is killed from here. Resolves to
 * false when some processes survive.
 */
export async function endAccount(account: Account): Promise<boolean> {
  if (!isReserved(account.uid)) throw new Error(`uid ${account.uid} is not reserved for one deployment`)
  const until = performance.now() + END_TIMEOUT_MS
  for (let wait = 10; ; wait = Math.min(200, wait * 1.5)) {
    const left = processesByUser().get(account.uid) ?? []
    if (left.length === 0) return true
    if (performance.now() > until) return false
    signalProcesses(left, 'SIGKILL')
    await killAll(account)
    await sleep(wait)
  }
}

/** -1 signals all processes that the sender may signal, except itself. */
async function killAll({ uid, gid }: Account): Promise<void> {
  const sender = spawn('/bin/sh', ['-c', 'kill -KILL -1'], { uid, gid, cwd: '/', env: {}, stdio: 'ignore' })
  await once(sender, 'exit').catch(() => undefined)
}
