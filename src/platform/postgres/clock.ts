/**
 * Provides the database's time in this process (docs/architecture.md#rules): a monotonic clock plus an offset measured
 * regularly. SQL compares with the database's clock, so times written here must agree with it.
 */
import type { Log } from '../log/log.ts'
import { onSingleConnection } from './single-connection.ts'

const CHECK_INTERVAL_MS = 60_000
const TIMEOUT_MS = 5_000
/** difference from which the log warns */
const LOG_THRESHOLD_MS = 5_000
/** a jump of the machine's clock that triggers a new measurement: the database's clock may have jumped, too */
const CLOCK_STEP_MS = 1_000

export interface DatabaseClock {
  now: () => Date
  stop(): void
}

/** Machine time at performance.now() = 0, in ms since the epoch. It changes when someone sets the machine's clock. */
const origin = () => Date.now() - performance.now()

/** Measures once before it resolves. A failed measurement leaves the clock unchanged. `url`: the database's. */
export async function databaseClock(url: string, log: Log): Promise<DatabaseClock> {
  /** the database's time at performance.now() = 0 */
  let theirs = origin()
  /** the machine's origin at the latest measurement */
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
        'the clock of this machine differs from the database’s; the server uses the database’s',
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

/** Origin by the database's clock, measured on a dedicated connection, so a full pool can't delay it. */
function originOf(url: string): Promise<number> {
  return onSingleConnection(url, { name: 'clock', connectMs: TIMEOUT_MS, answerMs: TIMEOUT_MS }, async (client) => {
    const sentAt = performance.now()
    const { rows } = await client.query<{ ms: string }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms')
    return Number(rows[0]!.ms) - (sentAt + performance.now()) / 2
  })
}
