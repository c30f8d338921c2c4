/**
 * Which logs are followed. A commit that notifies waits for all others that do, whatever they are about, and is heard by every
 * server: so the many calls that append lines do it only while somebody listens.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Db } from '../transaction/context.ts'

/** NOTIFY channel of who follows logs; the payload is the deployment's id. A hint only: the log is the truth. */
export const LOG_CHANNEL = 'pilothouse_logs'

/** seconds; of a server that says it no more it is forgotten then */
const FOLLOW_SECONDS = 60

/** Says that the logs of these deployments are followed, for a minute from now. One statement. */
export async function markFollowed(db: Db, deploymentIds: readonly string[]): Promise<void> {
  // in one order: other servers say the same
  await db.$executeRaw`
    WITH forgotten AS (
      DELETE FROM followed_logs WHERE until < now() - interval '1 day' AND deployment_id <> ALL (${deploymentIds}::uuid[])
    )
    INSERT INTO followed_logs (deployment_id, until)
    SELECT id, now() + make_interval(secs => ${FOLLOW_SECONDS}::int) FROM unnest(${deploymentIds}::uuid[]) AS id ORDER BY id
    ON CONFLICT (deployment_id) DO UPDATE SET until = EXCLUDED.until`
}

/** Of a SELECT: notifies at the commit, if the log of this deployment is followed. */
export const notifyFollowers = (deploymentId: Prisma.Sql) => Prisma.sql`
  CASE WHEN EXISTS (SELECT 1 FROM followed_logs f WHERE f.deployment_id = ${deploymentId} AND f.until > now())
    THEN pg_notify(${LOG_CHANNEL}, ${deploymentId}::text) END`
