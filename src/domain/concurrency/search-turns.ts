/** Turns for the statements of searches: a few on this server, and one of each workspace. Others wait in order. */
import { KeyedSemaphore, type Release } from './keyed-semaphore.ts'

const MAX_ON_SERVER = 2
/** Further calls of a workspace get no turn. */
const MAX_QUEUED = 100
const SEARCH_LIMIT_MS = 2_000

export class SearchTurns {
  /** after this time a search begins no statement */
  readonly limitMs: number
  readonly #workspaces: KeyedSemaphore
  readonly #server: KeyedSemaphore

  constructor(limitMs: number = SEARCH_LIMIT_MS) {
    this.limitMs = limitMs
    this.#workspaces = new KeyedSemaphore({ maxConcurrent: 1, maxQueued: MAX_QUEUED, queueTimeoutMs: limitMs })
    this.#server = new KeyedSemaphore({
      maxConcurrent: MAX_ON_SERVER,
      maxQueued: Number.POSITIVE_INFINITY,
      queueTimeoutMs: limitMs,
    })
  }

  /** Runs `work` in its turn. Null: no turn came within the limit, or the caller is gone. */
  async run<T>(workspaceId: string, caller: Caller, work: () => Promise<T>): Promise<T | null> {
    return inTurn(await this.#workspaces.acquire(workspaceId, caller), async () =>
      inTurn(await this.#server.acquire('', caller), work),
    )
  }
}

type Caller = Parameters<KeyedSemaphore['acquire']>[1]

async function inTurn<T>(release: Release | null, work: () => Promise<T | null>): Promise<T | null> {
  if (!release) return null
  try {
    return await work()
  } finally {
    release()
  }
}
