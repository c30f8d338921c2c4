/** Whether this machine can build now. While it can't, it takes nothing that others could build. */
import type { Logger } from 'pino'
import { sleep } from '../platform/async/retry.ts'

/** ms until it is looked at again */
const CHECK_INTERVAL_MS = 5000

export interface Readiness {
  /** Why it can't, for people; null: it can. */
  problem(): string | null
  /** Ends what is looked at. */
  stop(): Promise<void>
}

/** `look` answers what is wrong, and is asked again and again. Changes go to the log, once each. */
export function watchReadiness(look: (signal: AbortSignal) => Promise<string | null>, log: Logger): Readiness {
  const stopping = new AbortController()
  let problem: string | null = 'It is being looked whether images can be built here'
  const looking = watch()

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      const found = await look(stopping.signal).catch((error: Error) => error.message)
      if (stopping.signal.aborted) return
      if (found !== problem && found !== null) log.error({ reason: found }, 'Nothing can be built here')
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
