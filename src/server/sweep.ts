/** Does something again and again, never twice at a time; an error is logged and the next round comes all the same. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../domain/context.ts'

export interface Sweep {
  /** Resolves when the round under way is over. */
  stop(): Promise<void>
}

/** `seconds`: the pause between two rounds. The first round comes at once. */
export function startSweep(round: () => Promise<void>, seconds: number, log: Log): Sweep {
  const abort = new AbortController()
  const done = run()
  return {
    async stop() {
      abort.abort()
      await done
    },
  }

  async function run(): Promise<void> {
    while (!abort.signal.aborted) {
      try {
        await round()
      } catch (error) {
        log.error({ err: error }, 'the sweep failed; it comes again')
      }
      await delay(seconds * 1000, undefined, { signal: abort.signal }).catch(() => {})
    }
  }
}
