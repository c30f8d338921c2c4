/** Checks for `/readyz` that the database answers within the timeout. */
import { resultWithin } from '../../platform/async/time-limit.ts'
import type { Database } from '../../platform/postgres/client.ts'

const TIMEOUT_MS = 2_000

/** Returns null, or the reason why it is not ready. Concurrent calls share one check. */
export function databaseCheck(database: Database): () => Promise<string | null> {
  let running: Promise<string | null> | null = null
  return () => {
    running ??= checkDatabase(database).finally(() => {
      running = null
    })
    return running
  }
}

async function checkDatabase(database: Database): Promise<string | null> {
  return (await resultWithin(TIMEOUT_MS, database.answers())) ? null : 'the database does not answer'
}
