/** What `/readyz` asks the database: whether it answers in time. */
import type { Database } from '../database/client.ts'

/** ms that the database has for an answer. */
const PATIENCE = 2_000

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

function ask(database: Database): Promise<string | null> {
  const silent = 'the database does not answer'
  const late = new Promise<string>((resolve) => setTimeout(resolve, PATIENCE, silent).unref())
  const asked = database.health.query('SELECT 1').then(
    () => null,
    () => silent,
  )
  return Promise.race([asked, late])
}
