/**
 * Queues for writers of the same rows, so that many writers of one row use few connections of the pool while they wait
 * for its lock. A writer is turned away (UNAVAILABLE) if it waits too long, if the queue is full, or if the writer before
 * it could not get the lock: then those behind it would only wait in vain, too.
 */
import { databaseFailure } from '../errors/database-error.ts'
import { DomainError } from '../errors/errors.ts'

export interface WriteQueue {
  /** Runs `work` when it is its turn among those with the same key. Throws UNAVAILABLE if it was turned away. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>
}

export interface WriteQueueOptions {
  /** how many may wait for one key */
  maxWaiting?: number
  /** ms that each may wait */
  timeout?: number
  /** how many run at once; default 1. If more, they may want different rows, so a locked one turns nobody else away */
  concurrency?: number
  /** what they all write to, for the message */
  subject?: string
}

interface Queue {
  running: number
  waiting: Set<Waiter>
}

interface Waiter {
  enter(): void
  reject(error: Error): void
}

export function createWriteQueue(options: WriteQueueOptions = {}): WriteQueue {
  const { maxWaiting = 128, timeout = 30_000, concurrency = 1, subject = 'deployment' } = options
  /** only of keys in use */
  const queues = new Map<string, Queue>()

  function turn({ waiting }: Queue): Promise<void> {
    if (waiting.size >= maxWaiting) return Promise.reject(turnedAway(subject))
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        waiting.delete(self)
      }
      const self: Waiter = {
        enter() {
          leave()
          resolve()
        },
        reject(error) {
          leave()
          reject(error)
        },
      }
      const timer = setTimeout(() => self.reject(turnedAway(subject)), timeout)
      waiting.add(self)
    })
  }

  return {
    async run(key, work) {
      const queue = queues.get(key) ?? { running: 0, waiting: new Set() }
      queues.set(key, queue)
      // a waiter takes over the place of the one that ends, so `running` stays the same
      if (queue.running < concurrency) queue.running++
      else await turn(queue)
      try {
        return await work()
      } catch (error) {
        if (concurrency > 1 || databaseFailure(error) !== 'locked') throw error
        for (const waiter of [...queue.waiting]) waiter.reject(turnedAway(subject))
        throw turnedAway(subject, error)
      } finally {
        const [next] = queue.waiting
        if (next) next.enter()
        else if (--queue.running === 0) queues.delete(key)
      }
    },
  }
}

function turnedAway(subject: string, cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', `Others are writing to this ${subject}, and it takes too long. Try again.`, {
    retryAfterSeconds: 2,
    cause,
  })
}

/**
 * The queue for writers of one workspace: they all lock its event counter in the end, so while that is locked they may
 * use half of the `poolSize` connections and no more. Its timeout is short, since they wait in a deployment's queue, too.
 */
export function createWorkspaceQueue(poolSize: number): WriteQueue {
  const concurrency = Math.max(2, Math.floor(poolSize / 2))
  return createWriteQueue({ concurrency, subject: 'workspace', maxWaiting: 512, timeout: 8_000 })
}
