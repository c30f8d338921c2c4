/**
 * Wakes who listens, on any server, to what has been committed: many at once, in a statement of their own. A transaction that writes
 * and notifies is let through by Postgres one at a time, in all databases of a cluster, with its wait for the disk; one that only
 * notifies waits for no disk. A wake-up is a hint: where it gets lost with its process, who listens finds out by looking, soon
 * (api/realtime/relay.ts, platform/async/long-poll.ts). What nobody looks for by himself is notified in its transaction.
 */
import { backoff, retry, sleep } from '../async/retry.ts'
import type { Log } from '../log/log.ts'
import type { Query } from './transaction.ts'

export interface WakeUps {
  /** Sends them (`channel payload`), at once unless some were sent just now. The same one is sent once for all who ask meanwhile. */
  send(notices: Iterable<string>): void
  /** Resolves when what was asked for is sent, or can't be; call it last. */
  close(): Promise<void>
}

/** ms between two statements: each costs every server a look */
const SEND_INTERVAL_MS = 5
const MAX_TRIES = 5

/** `$1`: channels with their payloads. In their order. */
const NOTIFY = {
  name: 'wake',
  text: `SELECT pg_notify(split_part(notice, ' ', 1), split_part(notice, ' ', 2)) FROM unnest($1::text[]) AS notice`,
}

export function createWakeUps(query: Query, log?: Log): WakeUps {
  const asked = new Set<string>()
  let sending: Promise<void> | null = null
  let closing = false

  async function sendAll(): Promise<void> {
    while (asked.size > 0) {
      const notices = [...asked]
      asked.clear()
      try {
        await retry(() => query(NOTIFY, [notices]), {
          when: () => !closing,
          pause: (retries) => backoff(retries, 50, 1_000, 0.5),
          tries: MAX_TRIES,
        })
      } catch (error) {
        log?.warn({ err: error, notices: notices.length }, 'nobody could be woken: who waits finds out by looking')
      }
      if (!closing) await sleep(SEND_INTERVAL_MS)
    }
    sending = null
  }

  return {
    send(notices) {
      for (const notice of notices) asked.add(notice)
      if (asked.size > 0) sending ??= sendAll()
    },
    async close() {
      closing = true
      await sending
    },
  }
}
