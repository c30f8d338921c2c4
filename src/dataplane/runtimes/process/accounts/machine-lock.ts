/**
 * A lock that all servers of a machine know, by a file. The kernel lets go of it when its holder dies, however that comes.
 */
import { spawn } from 'node:child_process'
import { within } from '../../../../platform/async/time-limit.ts'

/** so long somebody else may have it */
const MAX_WAIT_MS = 90_000
/** ms in which it is got when nobody has it, on a machine that is busy */
const WAIT_NOTICE_MS = 1500

/** It can't be had: not in time, or not at all, as on a file system that knows no locks. */
export class LockError extends Error {}

export interface LockOptions {
  /** how long it is waited for */
  maxWaitMs?: number
  /** ends the wait */
  signal?: AbortSignal
  /** called when somebody else has it for a while */
  onWait?: () => void
}

/** Runs `work` while nobody else has the lock. Throws LockError, or the signal's reason when that aborts before. */
export async function withMachineLock<T>(
  file: string,
  work: () => Promise<T>,
  { maxWaitMs = MAX_WAIT_MS, signal, onWait }: LockOptions = {},
): Promise<T> {
  // it has the lock until it can read to the end of its input: when we close it, or die
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
    const had = await within(maxWaitMs, got)
    clearTimeout(waits)
    signal?.throwIfAborted()
    if (!had) throw new LockError(`The lock ${file} can't be had`)
    return await work()
  } finally {
    clearTimeout(waits)
    signal?.removeEventListener('abort', stop)
    holder.stdin.end()
    // one that still waits for the lock does not read
    if (holder.exitCode === null) holder.kill()
  }
}
