/**
 * Lines of those who want to write to the same thing: one is let in at a time, in order, so that however many come
 * they use one connection of the pool and not all. Who waits too long, finds too many before him, or waits behind
 * somebody who could not get at it, is sent away: a lock that is not given up costs the others nothing.
 */
import { databaseFailure } from './database-failure.ts'
import { DomainError } from './errors.ts'

export interface Lines {
  /** Runs `work` when it is its turn in the line of `key`. Throws UNAVAILABLE when it does not come to that. */
  inLine<T>(key: string, work: () => Promise<T>): Promise<T>
}

export interface LineOptions {
  /** how many may wait in one line */
  most?: number
  /** ms that each may wait */
  patience?: number
}

interface Waiting {
  enter(): void
  sendAway(error: Error): void
}

export function createLines({ most = 128, patience = 30_000 }: LineOptions = {}): Lines {
  /** those who wait; a key is there as long as somebody is in */
  const lines = new Map<string, Set<Waiting>>()

  function turn(line: Set<Waiting>): Promise<void> {
    if (line.size >= most) return Promise.reject(sentAway())
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        line.delete(self)
      }
      const self: Waiting = {
        enter() {
          leave()
          resolve()
        },
        sendAway(error) {
          leave()
          reject(error)
        },
      }
      const timer = setTimeout(() => self.sendAway(sentAway()), patience)
      line.add(self)
    })
  }

  return {
    async inLine(key, work) {
      const line = lines.get(key)
      if (line) await turn(line)
      else lines.set(key, new Set())
      const mine = lines.get(key)!
      try {
        return await work()
      } catch (error) {
        if (databaseFailure(error) !== 'locked') throw error
        // the others would wait as long, and in vain
        for (const one of [...mine]) one.sendAway(sentAway())
        throw sentAway(error)
      } finally {
        const [next] = mine
        if (next) next.enter()
        else lines.delete(key)
      }
    },
  }
}

function sentAway(cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', 'Others are writing to this deployment, and it takes too long. Try again.', {
    retryAfterSeconds: 2,
    cause,
  })
}
