/** Removes finished steps, and shortens old failure messages to their first line (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import { toChangeOrSkip, toDeleteOrSkip } from '../repositories/locks.ts'
import type { Core } from '../transaction/context.ts'
import { TERMINAL } from '../values/lifecycle.ts'
import { daysAgo, type HasTime, removeInBatches } from './log-lines.ts'

const BATCH_ROWS = 1000

/**
 * Old finished steps, except those of deployments being deleted and those without a later taken step: the newest taken
 * step says that there is something to tear down.
 */
export const OLD_STEPS = (days: number) => Prisma.sql`
  SELECT s.id FROM steps s JOIN deployments d ON d.id = s.deployment_id
  WHERE s.finished_at < ${daysAgo(days)} AND d.deleted_at IS NULL AND d.busy_step_id IS DISTINCT FROM s.id
    AND EXISTS (
      SELECT 1 FROM steps n WHERE n.deployment_id = s.deployment_id AND (n.created_at, n.id) > (s.created_at, s.id)
      AND n.first_taken_at IS NOT NULL)`

export async function removeSteps(core: Core, hasTime: HasTime): Promise<void> {
  const old = OLD_STEPS(core.settings.retention.logDays)
  await removeInBatches(
    BATCH_ROWS,
    hasTime,
    () => core.db.$executeRaw`
      DELETE FROM steps WHERE id = ANY (ARRAY(${old} LIMIT ${BATCH_ROWS} ${toDeleteOrSkip('s')}))`,
  )
}

/** Revisions whose failure message is old and has several lines. A deployment's latest revision keeps its message. */
export const OLD_DETAILS = (days: number) => Prisma.sql`
  SELECT r.id FROM revisions r
  WHERE r.status_since < ${daysAgo(days)} AND r.status_message LIKE E'%\n%' AND r.status::text = ANY (${[...TERMINAL]})
    AND NOT EXISTS (SELECT 1 FROM deployments d WHERE d.latest_revision_id = r.id)`

export async function removeDetails(core: Core, hasTime: HasTime): Promise<void> {
  const old = OLD_DETAILS(core.settings.retention.logDays)
  await removeInBatches(
    BATCH_ROWS,
    hasTime,
    () => core.db.$executeRaw`
      UPDATE revisions SET status_message = split_part(status_message, E'\n', 1)
      WHERE id = ANY (ARRAY(${old} LIMIT ${BATCH_ROWS} ${toChangeOrSkip('r')}))`,
  )
}
