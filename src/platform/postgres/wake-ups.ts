/**
 * Sends NOTIFYs after commits, batched into separate statements. A NOTIFY in a writing transaction would serialise commits
 * (README.md). A lost wake-up is safe, because listeners also poll.
 */
import { backoff, retry, sleep } from '../async/retry.ts'
import type { Log } from '../log/log.ts'
import type { Query } from './transaction.ts'

export interface WakeUps {
  /** Sends notices (`channel payload`) immediately, or after a running send. Equal notices are sent once. */
  send(notices: Iterable<string>): void
  /** Resolves when all notices are sent or have failed. Call it last. */
  close(): Promise<void>
}

/** each statement makes every server look */
const SEND_INTERVAL_MS = 5
const MAX_TRIES = 5

/** `$1`: notices, sent in order. */
const NOTIFY = {
  name: 'wake',
  text: `SELECT pg_notify(split_part(notice, ' ', 1), split_part(notice, ' ', 2)) FROM unnest($1::text[]) AS notice`,
}

export function createWakeUps(query: Query, log?: Log): WakeUps {
  const requested = new Set<string>()
  let sending: Promise<void> | null = null
  let closing = false

  async function sendAll(): Promise<void> {
    while (requested.size > 0) {
      const notices = [...requested]
      requested.clear()
      try {
        await retry(() => query(NOTIFY, [notices]), {
          when: () => !closing,
          pause: (retries) => backoff(retries, 50, 1_000, 0.5),
          tries: MAX_TRIES,
        })
      } catch (error) {
        log?.warn({ err: error, notices: notices.length }, 'a NOTIFY failed; waiting clients find out by polling')
      }
      if (!closing) await sleep(SEND_INTERVAL_MS)
    }
    sending = null
  }

  return {
    send(notices) {
      for (const notice of notices) requested.add(notice)
      if (requested.size > 0) sending ??= sendAll()
    },
    async close() {
      closing = true
      await sending
    },
  }
}
