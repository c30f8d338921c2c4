/**
 * Ends all processes of an account that is one deployment's alone, whatever group, session or namespace they went to.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { sleep } from '../../../../platform/async/retry.ts'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import { processesByUser } from '../processes/proc.ts'
import { signalProcesses } from '../processes/process-tags.mjs'
import { isReserved } from './reservations.ts'

/** what waits for a disk does not end at once */
const END_TIMEOUT_MS = 10_000

/**
 * SIGKILL until nobody is left; for root on Linux. What forks faster than anybody can look meets a signal that the kernel
 * sends to all at once, and what kills whoever sends that is killed by us. Resolves to false when some can't be ended.
 */
export async function endAccount(account: Account): Promise<boolean> {
  if (!isReserved(account.uid)) throw new Error(`Not all that runs as uid ${account.uid} is one deployment's`)
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

/** -1 are all that the sender may send it to, without itself. */
async function killAll({ uid, gid }: Account): Promise<void> {
  const sender = spawn('/bin/sh', ['-c', 'kill -KILL -1'], { uid, gid, cwd: '/', env: {}, stdio: 'ignore' })
  await once(sender, 'exit').catch(() => undefined)
}
