/**
 * Work that nobody may cut short once it has begun: what was sent to a provider can be sent only once, so its answer
 * has to be kept, whoever has stopped waiting for it. The server's stop waits for it, for a while.
 */

export interface UnderWay {
  /** The work on this key that is under way in this process. It never rejects. */
  of(key: string): Promise<void> | undefined
  /** Begins work on a key. It must not throw. */
  begin(key: string, work: () => Promise<void>): void
  /**
   * The server stops: callers begin nothing new. Resolves when all that was begun is over, at the latest after `ms`.
   */
  close(ms: number): Promise<void>
  readonly closed: boolean
}

export function createUnderWay(): UnderWay {
  const all = new Set<Promise<void>>()
  const newest = new Map<string, Promise<void>>()
  let closed = false

  return {
    of: (key) => newest.get(key),
    begin(key, work) {
      const over = work()
        .catch(() => {})
        .finally(() => {
          all.delete(over)
          if (newest.get(key) === over) newest.delete(key)
        })
      all.add(over)
      newest.set(key, over)
    },
    async close(ms) {
      closed = true
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<'late'>((resolve) => {
        timer = setTimeout(resolve, ms, 'late')
      })
      // what was about to begin when the server was told to stop may still come
      while (all.size > 0) if ((await Promise.race([Promise.all(all), late])) === 'late') break
      clearTimeout(timer)
    },
    get closed() {
      return closed
    },
  }
}

/** Resolves when `work`, which never rejects, is over, or `signal` aborts: then it goes on by itself. */
export function overOrAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
    work.then(done)
  })
}
