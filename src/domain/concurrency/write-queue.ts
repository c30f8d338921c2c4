/**
 * Queues writers of the same rows, so few connections wait for a row lock. A writer gets UNAVAILABLE if it waits too
 * long, the queue is full, or the previous writer could not get the lock.
 */
import { databaseFailure } from '../errors/database-error.ts'
import { DomainError } from '../errors/errors.ts'
import { KeyedSemaphore } from './keyed-semaphore.ts'

export interface WriteQueue {
  /** Throws UNAVAILABLE if the queue rejects the writer. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>
}

export interface WriteQueueOptions {
  maxWaiting?: number
  /** maximum wait of a writer, in ms */
  timeout?: number
  /**
   * writers that run concurrently; default 1. With more, a locked row rejects no other writer, because they may write
   * different rows
   */
  concurrency?: number
  subject?: string
}

export function createWriteQueue(options: WriteQueueOptions = {}): WriteQueue {
  const { maxWaiting = 128, timeout = 30_000, concurrency = 1, subject = 'deployment' } = options
  const semaphore = new KeyedSemaphore({ maxConcurrent: concurrency, maxQueued: maxWaiting, queueTimeoutMs: timeout })
  return {
    async run(key, work) {
      const release = await semaphore.acquire(key)
      if (!release) throw turnedAway(subject)
      try {
        return await work()
      } catch (error) {
        if (concurrency > 1 || databaseFailure(error) !== 'locked') throw error
        semaphore.rejectQueued(key)
        throw turnedAway(subject, error)
      } finally {
        release()
      }
    },
  }
}

function turnedAway(subject: string, cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', `Other writes to this ${subject} take too long. Try again.`, {
    retryAfterSeconds: 2,
    cause,
  })
}

/** Writers of a workspace lock its event counter, so they may use at most half of the connections. */
export function createWorkspaceQueue(poolSize: number): WriteQueue {
  const concurrency = Math.max(2, Math.floor(poolSize / 2))
  // a short timeout, because these writers also wait in a deployment's queue
  return createWriteQueue({ concurrency, subject: 'workspace', maxWaiting: 512, timeout: 8_000 })
}
