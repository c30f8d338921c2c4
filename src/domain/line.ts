/**
 * Lines of those who want to write to the same thing: one is let in at a time, or a few, in order, so that however many
 * come they use as many connections of the pool and not all. Who waits too long, finds too many before him, or waits
 * behind the one who could not get at it, is sent away: a lock that is not given up costs the others nothing.
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
  /** how many are let in at once; default 1. Where it is more, they may want different rows: one that is locked sends nobody away */
  width?: number
  /** what they all write to, in words */
  what?: string
}

interface Line {
  inside: number
  waiting: Set<Waiting>
}

interface Waiting {
  enter(): void
  sendAway(error: Error): void
}

export function createLines(options: LineOptions = {}): Lines {
  const { most = 128, patience = 30_000, width = 1, what = 'deployment' } = options
  /** a key is there as long as somebody is in */
  const lines = new Map<string, Line>()

  function turn({ waiting }: Line): Promise<void> {
    if (waiting.size >= most) return Promise.reject(sentAway(what))
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        waiting.delete(self)
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
      const timer = setTimeout(() => self.sendAway(sentAway(what)), patience)
      waiting.add(self)
    })
  }

  return {
    async inLine(key, work) {
      const line = lines.get(key) ?? { inside: 0, waiting: new Set() }
      lines.set(key, line)
      // who waits is let in in the place of the one who leaves
      if (line.inside < width) line.inside++
      else await turn(line)
      try {
        return await work()
      } catch (error) {
        if (width > 1 || databaseFailure(error) !== 'locked') throw error
        // the others would wait as long, and in vain
        for (const one of [...line.waiting]) one.sendAway(sentAway(what))
        throw sentAway(what, error)
      } finally {
        const [next] = line.waiting
        if (next) next.enter()
        else if (--line.inside === 0) lines.delete(key)
      }
    },
  }
}

function sentAway(what: string, cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', `Others are writing to this ${what}, and it takes too long. Try again.`, {
    retryAfterSeconds: 2,
    cause,
  })
}

/** ms in the line of a workspace: who waits has a place in the line of his deployment, too */
const PATIENCE_OF_WORKSPACE = 8_000

/**
 * Those who write to one workspace end their transactions one after the other, at its event counter: where that is
 * locked, they must not have all of the `poolSize` connections.
 */
export function createWorkspaceLines(poolSize: number): Lines {
  const width = Math.max(2, Math.floor(poolSize / 2))
  return createLines({ width, what: 'workspace', most: 512, patience: PATIENCE_OF_WORKSPACE })
}
