/**
 * The database's clock, as this process knows it (docs/architecture.md#rules): how far it is from a clock of our own that nobody
 * sets, looked at again and again. Rules in SQL compare with the database's own; what is written and what is derived here
 * agrees with them, however the clock of this machine is set, and when.
 */
import type { Log } from '../log/log.ts'
import { onSingleConnection } from './single-connection.ts'

/** ms between two looks */
const CHECK_INTERVAL_MS = 60_000
/** ms for one look */
const TIMEOUT_MS = 5_000
/** ms from which on the log says so */
const LOG_THRESHOLD_MS = 5_000
/** ms by which the machine's clock has to move by itself, until the database is looked at again at once: it may have moved, too */
const CLOCK_STEP_MS = 1_000

export interface DatabaseClock {
  now: () => Date
  stop(): void
}

/** ms since the epoch, by the machine's clock, at the moment that performance.now() calls 0: moves when that clock is set. */
const origin = () => Date.now() - performance.now()

/** Looks once before it resolves. A look that fails leaves the clock as it is. `url`: of the database. */
export async function databaseClock(url: string, log: Log): Promise<DatabaseClock> {
  /** the same by the database's clock */
  let theirs = origin()
  /** the machine's, as it was when the database was last asked, or was to be */
  let ours = theirs
  let told = 0
  const look = async () => {
    ours = origin()
    const found = await originOf(url).catch(() => null)
    if (found === null) return
    theirs = found
    const ahead = theirs - origin()
    if (Math.abs(ahead) >= LOG_THRESHOLD_MS && Math.abs(ahead - told) >= LOG_THRESHOLD_MS)
      log.warn(
        { ms: Math.round(-ahead) },
        'the clock of this machine is not that of the database; the database’s counts',
      )
    told = ahead
  }
  const now = () => {
    if (Math.abs(origin() - ours) >= CLOCK_STEP_MS) void look()
    return new Date(performance.now() + theirs)
  }
  await look()
  const timer = setInterval(() => void look(), CHECK_INTERVAL_MS).unref()
  return { now, stop: () => clearInterval(timer) }
}

/** `origin` by the database's clock. On a connection of its own, which no full pool delays. */
function originOf(url: string): Promise<number> {
  return onSingleConnection(url, { name: 'clock', connectMs: TIMEOUT_MS, answerMs: TIMEOUT_MS }, async (client) => {
    const asked = performance.now()
    const { rows } = await client.query<{ ms: string }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms')
    return Number(rows[0]!.ms) - (asked + performance.now()) / 2
  })
}
