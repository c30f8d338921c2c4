/**
 * A deployment's status is derived, never stored (contract 3). In this file, and nowhere else: for a row that was read,
 * as the where-clause that finds rows of a status, and as SQL. A test holds the three together.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { DeploymentStatus } from './schemas.ts'

/** A listener that was not heard from for so long no longer speaks for its deployments. */
const LISTENER_SILENT_MS = 90_000

/** What the status is derived from. */
export const STATUS_FIELDS = {
  deletedAt: true,
  provisionedAt: true,
  idle: true,
  listener: { select: { lastSeenAt: true, createdAt: true } },
} as const satisfies Prisma.DeploymentSelect

export type StatusFields = Prisma.DeploymentGetPayload<{ select: typeof STATUS_FIELDS }>

/** Who was last heard from before this is silent. */
export const silentBefore = (now: Date): Date => new Date(now.getTime() - LISTENER_SILENT_MS)

/** A listener that never called counts from its creation. */
export function isSilent(listener: { lastSeenAt: Date | null; createdAt: Date }, now: Date): boolean {
  return (listener.lastSeenAt ?? listener.createdAt) < silentBefore(now)
}

export function deploymentStatus(deployment: StatusFields, now: Date): DeploymentStatus {
  if (deployment.deletedAt) return 'AWAITING_DELETE'
  if (deployment.listener && isSilent(deployment.listener, now)) return 'UNKNOWN'
  if (!deployment.provisionedAt) return 'AWAITING_DATABASE'
  return deployment.idle ? 'UNUSED' : 'READY'
}

export function whereStatus(status: DeploymentStatus, now: Date): Prisma.DeploymentWhereInput {
  const before = silentBefore(now)
  if (status === 'AWAITING_DELETE') return { deletedAt: { not: null } }
  if (status === 'UNKNOWN') return { deletedAt: null, listener: lastHeard({ lt: before }) }
  // spelled out, not `NOT silent`: in SQL the negation of an unknown comparison is unknown too
  const heard = { deletedAt: null, OR: [{ listenerId: null }, { listener: lastHeard({ gte: before }) }] }
  if (status === 'AWAITING_DATABASE') return { ...heard, provisionedAt: null }
  return { ...heard, provisionedAt: { not: null }, idle: status === 'UNUSED' }
}

/** On deployments `d` and their listeners `l`. */
export function statusSql(now: Date): Prisma.Sql {
  return Prisma.sql`CASE
    WHEN d.deleted_at IS NOT NULL THEN ${'AWAITING_DELETE' satisfies DeploymentStatus}
    WHEN coalesce(l.last_seen_at, l.created_at) < ${silentBefore(now)} THEN ${'UNKNOWN' satisfies DeploymentStatus}
    WHEN d.provisioned_at IS NULL THEN ${'AWAITING_DATABASE' satisfies DeploymentStatus}
    WHEN d.idle THEN ${'UNUSED' satisfies DeploymentStatus} ELSE ${'READY' satisfies DeploymentStatus} END`
}

/** A listener that never called counts from its creation. */
export function lastHeard(when: Prisma.DateTimeFilter): Prisma.ListenerWhereInput {
  return { OR: [{ lastSeenAt: when }, { lastSeenAt: null, createdAt: when }] }
}
