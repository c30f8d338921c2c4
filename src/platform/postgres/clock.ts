/**
 * The database's clock, as this process knows it (docs/architecture.md#rules): its own, put right by how far it is off. Rules in SQL
 * compare with the database's own; what is written and what is derived here agrees with them, however the clock of this
 * machine is set.
 */
import type { Log } from '../log/log.ts'
import { onSingleConnection } from './single-connection.ts'

/** ms between two looks; a clock that is set meanwhile is off for so long */
const EVERY = 60_000
/** ms for one look */
const TIMEOUT_MS = 5_000
/** ms from which on the log says so */
const NOTABLE = 5_000

export interface DatabaseClock {
  now: () => Date
  stop(): void
}

/** Looks once before it resolves. A look that fails leaves the clock as it is. `url`: of the database. */
export async function databaseClock(url: string, log: Log): Promise<DatabaseClock> {
  let offset = 0
  const look = async () => {
    const found = await offsetOf(url).catch(() => offset)
    if (Math.abs(found) >= NOTABLE && Math.abs(found - offset) >= NOTABLE)
      log.warn(
        { ms: Math.round(-found) },
        'the clock of this machine is not that of the database; the database’s counts',
      )
    offset = found
  }
  await look()
  const timer = setInterval(() => void look(), EVERY).unref()
  return { now: () => new Date(Date.now() + offset), stop: () => clearInterval(timer) }
}

/** ms by which the database's clock is ahead. On a connection of its own, which no full pool delays. */
function offsetOf(url: string): Promise<number> {
  return onSingleConnection(url, { name: 'clock', connectMs: TIMEOUT_MS, answerMs: TIMEOUT_MS }, async (client) => {
    const asked = Date.now()
    const { rows } = await client.query<{ ms: string }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms')
    return Number(rows[0]!.ms) - (asked + Date.now()) / 2
  })
}
