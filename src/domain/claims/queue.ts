/** Reads the state of the whole installation's work queue and of webhooks, for metrics. */
import { inSql, OPEN } from '../values/lifecycle.ts'

/** A separate pool, so a slow count takes no connection from requests. */
interface Queries {
  query<Row extends object>(sql: string): Promise<{ rows: Row[] }>
}

export interface QueueState {
  /** deployments with a valid lease */
  leases: number
  /** steps that were never taken */
  steps: number
  /** age of the oldest such step, in seconds; 0: none */
  oldest: number
  /** to webhook endpoints */
  deliveries: { pending: number; dead: number }
  /** revisions in progress, by status and reason */
  open: { status: string; reason: string; count: number }[]
}

/** One statement; indexes answer it. */
const QUEUE_STATE = `
  SELECT (SELECT count(*)::int FROM deployments WHERE claim_id IS NOT NULL AND lease_expires_at > now()) AS leases, q.steps, q.oldest,
    json_build_object(
      'pending', (SELECT count(*) FROM endpoint_deliveries WHERE delivered_at IS NULL AND dead_at IS NULL),
      'dead', (SELECT count(*) FROM endpoint_deliveries WHERE dead_at IS NOT NULL)) AS deliveries,
    (SELECT coalesce(json_agg(r), '[]') FROM (
      SELECT status, coalesce(reason, 'none') AS reason, count(*)::int AS count FROM revisions
      WHERE status IN (${inSql(OPEN)}) GROUP BY 1, 2) AS r) AS open
  FROM (SELECT count(*)::int AS steps, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest
        FROM steps WHERE finished_at IS NULL AND first_taken_at IS NULL) AS q`

export async function readQueueState(queries: Queries): Promise<QueueState> {
  return (await queries.query<QueueState>(QUEUE_STATE)).rows[0]!
}
