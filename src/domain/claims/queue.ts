/** How the work of the whole installation stands, for whoever watches it. */
import { inSql, OPEN } from '../values/lifecycle.ts'

/** What can run a statement: a pool of its own, so that a slow count takes no connection from anybody else. */
interface Queries {
  query<Row extends object>(sql: string): Promise<{ rows: Row[] }>
}

export interface QueueState {
  /** deployments under a lease */
  leases: number
  /** steps that nobody has taken yet */
  steps: number
  /** seconds since the oldest of them was made; 0: there is none */
  oldest: number
  /** revisions in progress, by status and by what they wait for */
  open: { status: string; reason: string; count: number }[]
}

/** In one statement that indexes answer. */
const QUEUE_STATE = `
  SELECT (SELECT count(*)::int FROM deployments WHERE claim_id IS NOT NULL AND lease_expires_at > now()) AS leases, q.steps, q.oldest,
    (SELECT coalesce(json_agg(r), '[]') FROM (
      SELECT status, coalesce(reason, 'none') AS reason, count(*)::int AS count FROM revisions
      WHERE status IN (${inSql(OPEN)}) GROUP BY 1, 2) AS r) AS open
  FROM (SELECT count(*)::int AS steps, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest
        FROM steps WHERE finished_at IS NULL AND first_taken_at IS NULL) AS q`

export async function readQueueState(queries: Queries): Promise<QueueState> {
  return (await queries.query<QueueState>(QUEUE_STATE)).rows[0]!
}
