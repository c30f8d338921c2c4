/** Stores what workers say that their revisions wait for, within the statement that renews their leases. */
import { Prisma } from '../../generated/prisma/client.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'

/**
 * Parts of a WITH clause after `progress` (revision id, reason, message). Skips revisions that are locked, moved on or
 * unchanged.
 */
export const progressOfRevisions = Prisma.sql`
  unlocked AS (
    SELECT r.id FROM revisions r WHERE r.id IN (SELECT id FROM progress) ${toChangeOrSkip('r')}
  ), of_revisions AS (
    UPDATE revisions r SET reason = t.reason, status_message = t.message,
           reason_since = CASE WHEN r.reason = t.reason THEN r.reason_since WHEN t.reason IS NOT NULL THEN now() END
    FROM progress t JOIN unlocked USING (id)
    WHERE r.id = t.id AND r.status IN ('CREATING', 'BUILDING', 'DEPLOYING')
      AND (r.reason, r.status_message) IS DISTINCT FROM (t.reason, t.message)
  )`
