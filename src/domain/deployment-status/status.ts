/** A deployment's status: derived, never stored (README.md). For a row and as SQL; a test compares both. Also its URL. */
import { type Deployment, Prisma } from '../../generated/prisma/client.ts'
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

const LAST_SEEN = Prisma.sql`coalesce(l.last_seen_at, l.created_at)`

/** On deployments `d` and their listeners `l`. */
export function statusSql(now: Date): Prisma.Sql {
  return Prisma.sql`CASE
    WHEN d.deleted_at IS NOT NULL THEN ${'AWAITING_DELETE' satisfies DeploymentStatus}
    WHEN ${LAST_SEEN} < ${silentBefore(now)} THEN ${'UNKNOWN' satisfies DeploymentStatus}
    WHEN d.provisioned_at IS NULL THEN ${'AWAITING_DATABASE' satisfies DeploymentStatus}
    WHEN d.idle THEN ${'UNUSED' satisfies DeploymentStatus} ELSE ${'READY' satisfies DeploymentStatus} END`
}

/** Compares base columns, so indexes can answer. */
export function whereStatusSql(status: DeploymentStatus, now: Date): Prisma.Sql {
  if (status === 'AWAITING_DELETE') return Prisma.sql`d.deleted_at IS NOT NULL`
  const before = silentBefore(now)
  if (status === 'UNKNOWN') return Prisma.sql`d.deleted_at IS NULL AND ${LAST_SEEN} < ${before}`
  const notSilent = Prisma.sql`d.deleted_at IS NULL AND (l.id IS NULL OR ${LAST_SEEN} >= ${before})`
  if (status === 'AWAITING_DATABASE') return Prisma.sql`d.provisioned_at IS NULL AND ${notSilent}`
  return Prisma.sql`${status === 'UNUSED' ? Prisma.sql`d.idle` : Prisma.sql`NOT d.idle`} AND d.provisioned_at IS NOT NULL AND ${notSilent}`
}

/** The URLs of a deployment, and the columns that they need. */
export const URL_DESCRIPTION =
  'The address of the deployment: its custom_url, else the address that its data plane reported with the last deploy. That address may be inside the cluster. Null before the first deploy.'

export const URL_FIELDS = { customUrl: true, url: true } as const satisfies Prisma.DeploymentSelect

/** Null: nothing was deployed, and there is no custom URL. */
export function deploymentUrl({ customUrl, url }: Pick<Deployment, keyof typeof URL_FIELDS>): string | null {
  return customUrl ?? url
}

export const NAME_URL_FIELDS = { addressName: true, url: true } as const satisfies Prisma.DeploymentSelect

/** The address at the door. Null: it is a port or an Ingress, or nothing was deployed. */
export function nameUrl({ addressName, url }: Pick<Deployment, keyof typeof NAME_URL_FIELDS>): string | null {
  return addressName !== null && url !== null && new URL(url).hostname.includes(addressName) ? url : null
}
