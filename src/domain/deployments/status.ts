/**
 * A deployment's status is derived, never stored (contract 3). Twice in this file, and nowhere else: for a row
 * that was read, and as the where-clause that finds rows of a status. A test holds the two together.
 */
import type { Prisma } from '../../generated/prisma/client.ts'
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

/** What the message is derived from. */
export const MESSAGE_FIELDS = {
  statusMessage: true,
  integration: { select: { name: true, removedAt: true, suspendedAt: true } },
} as const satisfies Prisma.DeploymentSelect

type MessageFields = Prisma.DeploymentGetPayload<{ select: typeof MESSAGE_FIELDS }>

/** What it waits for, or why its teardown failed; otherwise that it can't be built from its repository any more. */
export function deploymentMessage({ statusMessage, integration }: MessageFields): string | null {
  if (statusMessage !== null || !integration) return statusMessage
  if (integration.removedAt)
    return `Its git integration '${integration.name}' was removed: what runs stays, but nothing new can be built. Install the app again, or create the deployment anew with another integration.`
  if (integration.suspendedAt)
    return `Its git integration '${integration.name}' is suspended at the git provider: nothing new can be built until that is lifted.`
  return null
}

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

/** A listener that never called counts from its creation. */
function lastHeard(when: Prisma.DateTimeFilter): Prisma.ListenerWhereInput {
  return { OR: [{ lastSeenAt: when }, { lastSeenAt: null, createdAt: when }] }
}
