/** What `/readyz` asks the database: whether it answers in time. */
import { resultWithin } from '../../platform/async/time-limit.ts'
import type { Database } from '../../platform/postgres/client.ts'

/** ms that the database has for an answer. */
const TIMEOUT_MS = 2_000

/** Answers null if all is well, or else the reason. However many ask at once, the database is asked once. */
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
