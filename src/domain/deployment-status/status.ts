/**
 * A deployment's status: derived, never stored (README.md). For a row, as Prisma's where-clause, and as SQL; a test compares
 * the three.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { DeploymentStatus } from '../values/shapes.ts'

/** After this time without a call, a listener's reports no longer count. */
export const LISTENER_SILENT_MS = 90_000

export const STATUS_FIELDS = {
  deletedAt: true,
  provisionedAt: true,
  idle: true,
  listener: { select: { lastSeenAt: true, createdAt: true } },
} as const satisfies Prisma.DeploymentSelect

export type StatusFields = Prisma.DeploymentGetPayload<{ select: typeof STATUS_FIELDS }>

/** A listener whose last call was before this time is silent. */
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
  if (status === 'UNKNOWN') return { deletedAt: null, listener: lastSeenWhere({ lt: before }) }
  // written out, because the negation of a comparison with NULL is NULL in SQL
  const live = { deletedAt: null, OR: [{ listenerId: null }, { listener: lastSeenWhere({ gte: before }) }] }
  if (status === 'AWAITING_DATABASE') return { ...live, provisionedAt: null }
  return { ...live, provisionedAt: { not: null }, idle: status === 'UNUSED' }
}

/** On deployments `d` and their listeners `l`. */
export function statusSql(now: Date): Prisma.Sql {
  return Prisma.sql`CASE
    WHEN d.deleted_at IS NOT NULL THEN ${'AWAITING_DELETE' satisfies DeploymentStatus}
    WHEN coalesce(l.last_seen_at, l.created_at) < ${silentBefore(now)} THEN ${'UNKNOWN' satisfies DeploymentStatus}
    WHEN d.provisioned_at IS NULL THEN ${'AWAITING_DATABASE' satisfies DeploymentStatus}
    WHEN d.idle THEN ${'UNUSED' satisfies DeploymentStatus} ELSE ${'READY' satisfies DeploymentStatus} END`
}

export function lastSeenWhere(when: Prisma.DateTimeFilter): Prisma.ListenerWhereInput {
  return { OR: [{ lastSeenAt: when }, { lastSeenAt: null, createdAt: when }] }
}
