/** Watches whether this machine can build. While it can't, it takes no builds that other builders could do. */
import type { Logger } from 'pino'
import { sleep } from '../platform/async/retry.ts'

const CHECK_INTERVAL_MS = 5000

export interface Readiness {
  /** Why it can't build, for people; null: it can. */
  problem(): string | null
  stop(): Promise<void>
}

/** Calls `look` repeatedly; it returns the problem or null. Each change is logged once. */
export function watchReadiness(look: (signal: AbortSignal) => Promise<string | null>, log: Logger): Readiness {
  const stopping = new AbortController()
  let problem: string | null = 'The first check for a container engine is still running'
  const looking = watch()

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      const found = await look(stopping.signal).catch((error: Error) => error.message)
      if (stopping.signal.aborted) return
      if (found !== problem && found !== null) log.error({ reason: found }, 'Images can’t be built here')
      if (found !== problem && found === null) log.info('Images can be built here')
      problem = found
      await sleep(CHECK_INTERVAL_MS, stopping.signal)
    }
  }

  return {
    problem: () => problem,
    async stop() {
      stopping.abort()
      await looking
    },
  }
}
