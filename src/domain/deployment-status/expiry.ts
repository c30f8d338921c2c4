/** Until when a cached answer with clock-derived values is valid (README.md). */
import type { Deployment, Listener, Prisma } from '../../generated/prisma/client.ts'
import { LISTENER_SILENT_MS } from './status.ts'

/**
 * A renewal that found a lease still valid raises no version. It commits within this time, by the limits of
 * platform/postgres/client.ts.
 */
const RENEWAL_COMMIT_MS = 60_000

/** A time in the past: the answer must not be cached. */
const NOT_CACHEABLE = new Date(0)

type ListenerTimes = Pick<Listener, 'lastSeenAt' | 'createdAt'>

/** The earliest of these times; null: the clock changes nothing. */
export function earliest(times: Iterable<Date | null>): Date | null {
  let first: Date | null = null
  for (const time of times) if (time !== null && (first === null || time < first)) first = time
  return first
}

/** Null: valid as long as the version. A time in the past: must not be cached. */
function validUntil(end: Date, now: Date): Date | null {
  if (end > now) return end
  return now.getTime() - end.getTime() < RENEWAL_COMMIT_MS ? NOT_CACHEABLE : null
}

/** Until when the shown state of a listener is valid. */
export function listenerValidUntil({ lastSeenAt, createdAt }: ListenerTimes, now: Date): Date | null {
  return validUntil(new Date((lastSeenAt ?? createdAt).getTime() + LISTENER_SILENT_MS), now)
}

export const EXPIRY_FIELDS = {
  deletedAt: true,
  activeRevisionId: true,
  leaseExpiresAt: true,
  listener: { select: { lastSeenAt: true, createdAt: true } },
} as const satisfies Prisma.DeploymentSelect

/** The same for a deployment with its listener. */
export function deploymentValidUntil(
  {
    deletedAt,
    activeRevisionId,
    leaseExpiresAt,
    listener,
  }: Pick<Deployment, 'deletedAt' | 'activeRevisionId' | 'leaseExpiresAt'> & { listener: ListenerTimes | null },
  now: Date,
): Date | null {
  if (deletedAt) return null
  const lease = activeRevisionId !== null && leaseExpiresAt ? validUntil(leaseExpiresAt, now) : null
  return earliest([lease, listener && listenerValidUntil(listener, now)])
}
