/** Records which logs are followed, so that appending sends NOTIFY only for those (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Db } from '../transaction/context.ts'

/** NOTIFY channel for followers; the payload is the deployment's id. Only a hint: the table is the truth. */
export const LOG_CHANNEL = 'pilothouse_logs'

/** A server that stops renewing is forgotten after this time. */
const FOLLOW_SECONDS = 60

export async function markFollowed(db: Db, deploymentIds: readonly string[]): Promise<void> {
  // in one order, because other servers mark the same rows
  await db.$executeRaw`
    WITH forgotten AS (
      DELETE FROM followed_logs WHERE until < now() - interval '1 day' AND deployment_id <> ALL (${deploymentIds}::uuid[])
    )
    INSERT INTO followed_logs (deployment_id, until)
    SELECT id, now() + make_interval(secs => ${FOLLOW_SECONDS}::int) FROM unnest(${deploymentIds}::uuid[]) AS id ORDER BY id
    ON CONFLICT (deployment_id) DO UPDATE SET until = EXCLUDED.until`
}

/** A column of a SELECT: notifies at the commit if this deployment's log is followed. */
export const notifyFollowers = (deploymentId: Prisma.Sql) => Prisma.sql`
  CASE WHEN EXISTS (SELECT 1 FROM followed_logs f WHERE f.deployment_id = ${deploymentId} AND f.until > now())
    THEN pg_notify(${LOG_CHANNEL}, ${deploymentId}::text) END`
