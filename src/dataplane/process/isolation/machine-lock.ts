/** A file lock between all servers of a machine. The kernel releases it when its holder dies. */
import { spawn } from 'node:child_process'
import { resultWithin } from '../../../platform/async/time-limit.ts'

const MAX_WAIT_MS = 90_000
/** after this time the lock counts as held by another; a free lock is acquired faster, even on a busy machine */
const WAIT_NOTICE_MS = 1500

/** The lock was not acquired: timeout, or a file system without locks. */
export class LockError extends Error {}

export interface LockOptions {
  maxWaitMs?: number
  signal?: AbortSignal
  onWait?: () => void
}

/** Runs `work` under the lock. Throws LockError, or the signal's reason if it aborts during the wait. */
export async function withMachineLock<T>(
  file: string,
  work: () => Promise<T>,
  { maxWaitMs = MAX_WAIT_MS, signal, onWait }: LockOptions = {},
): Promise<T> {
  // the shell holds the lock until its input ends: when we close it, or die
  const holder = spawn('flock', [file, 'sh', '-c', 'echo; read -r _'], { stdio: ['pipe', 'pipe', 'ignore'] })
  holder.stdin.on('error', () => undefined)
  const got = new Promise<boolean>((resolve) => {
    holder.stdout.once('data', () => resolve(true))
    for (const event of ['error', 'exit']) holder.once(event, () => resolve(false))
  })
  const stop = () => holder.kill()
  signal?.addEventListener('abort', stop)
  const waits = setTimeout(() => onWait?.(), WAIT_NOTICE_MS)
  try {
    const had = await resultWithin(maxWaitMs, got)
    clearTimeout(waits)
    signal?.throwIfAborted()
    if (!had) throw new LockError(`The lock ${file} can't be acquired`)
    return await work()
  } finally {
    clearTimeout(waits)
    signal?.removeEventListener('abort', stop)
    holder.stdin.end()
    // a shell that still waits for the lock does not read its input
    if (holder.exitCode === null) holder.kill()
  }
}
