/** What `/readyz` asks the database: whether it answers in time. */
import { resultWithin } from '../../platform/async/time-limit.ts'
import type { Database } from '../../platform/postgres/client.ts'

/** ms that the database has for an answer. */
const TIME_LIMIT = 2_000

/** Answers null if all is well, or else the reason. However many ask at once, the database is asked once. */
export function databaseCheck(database: Database): () => Promise<string | null> {
  let asking: Promise<string | null> | null = null
  return () => {
    asking ??= ask(database).finally(() => {
      asking = null
    })
    return asking
  }
}

async function ask(database: Database): Promise<string | null> {
  return (await resultWithin(TIME_LIMIT, database.answers())) ? null : 'the database does not answer'
}
