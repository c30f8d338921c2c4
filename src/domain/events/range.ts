/** Reads a range of a workspace's log from either end, with the log's state, in one statement. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Db } from '../transaction/context.ts'
import { type EventScope, eventsSql, REMOVED_UNTIL } from './read.ts'
import { EVENT_COLUMNS, type EventRow, type StoredEvent, toEvent } from './row.ts'

export interface Range {
  /** exclusive, as is `before` */
  after: bigint | null
  before: bigint | null
  descending: boolean
  limit: number
}

export interface FoundRange {
  events: StoredEvent[]
  /** the log's last sequence number */
  sequence: bigint
  /** events up to this number were removed by age */
  removed: bigint
  /** the deployment exists, or events of it remain; true if none was requested */
  deploymentThere: boolean
  /** the same for the revision, which must be the deployment's */
  revisionThere: boolean
}

export async function readRange(db: Db, workspaceId: string, scope: EventScope, range: Range): Promise<FoundRange> {
  const { after, before, descending, limit } = range
  const order = descending ? Prisma.sql`DESC` : Prisma.sql`ASC`
  const within = Prisma.sql`
    (${after}::bigint IS NULL OR sequence > ${after}) AND (${before}::bigint IS NULL OR sequence < ${before})`
  const rows = await db.$queryRaw<(EventRow & Omit<FoundRange, 'sequence' | 'events'> & { end: bigint })[]>`
    SELECT c.sequence AS end, ${REMOVED_UNTIL} AS removed,
           ${deploymentThere(workspaceId, scope)} AS "deploymentThere", ${revisionThere(workspaceId, scope)} AS "revisionThere",
           ${EVENT_COLUMNS}
    FROM event_counters c
    LEFT JOIN LATERAL ${eventsSql(workspaceId, scope, within, Prisma.sql`sequence ${order}`, limit)} AS e ON true
    WHERE c.workspace_id = ${workspaceId}::uuid
    ORDER BY e.sequence ${order}`
  const log = rows[0]
  if (!log) throw new Error(`workspace ${workspaceId} has no event counter`)
  const { end: sequence, removed, deploymentThere: deployment, revisionThere: revision } = log
  // without events there is still one row, with the log's state
  const events = rows.filter((row) => row.workspaceId !== null).map(({ end: _, removed: __, ...row }) => eventOf(row))
  return { events, sequence, removed, deploymentThere: deployment, revisionThere: revision }
}

function eventOf({
  deploymentThere: _,
  revisionThere: __,
  ...row
}: EventRow & Record<'deploymentThere' | 'revisionThere', boolean>) {
  return toEvent(row)
}

function deploymentThere(workspaceId: string, { deploymentId }: EventScope): Prisma.Sql {
  if (deploymentId === undefined) return Prisma.sql`true`
  return Prisma.sql`(
    EXISTS (SELECT 1 FROM deployments d WHERE d.id = ${deploymentId}::uuid AND d.workspace_id = c.workspace_id)
    OR EXISTS (SELECT 1 FROM events x WHERE x.deployment_id = ${deploymentId}::uuid AND x.workspace_id = ${workspaceId}::uuid))`
}

function revisionThere(workspaceId: string, { deploymentId, revisionId }: EventScope): Prisma.Sql {
  if (revisionId === undefined) return Prisma.sql`true`
  const own = deploymentId === undefined ? Prisma.empty : Prisma.sql`AND r.deployment_id = ${deploymentId}::uuid`
  return Prisma.sql`(
    EXISTS (SELECT 1 FROM revisions r JOIN deployments d ON d.id = r.deployment_id
            WHERE r.id = ${revisionId}::uuid AND d.workspace_id = c.workspace_id ${own})
    OR EXISTS (SELECT 1 FROM events r WHERE r.revision_id = ${revisionId}::uuid AND r.workspace_id = ${workspaceId}::uuid ${own}))`
}
