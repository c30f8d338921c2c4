/**
 * Until when an answer holds that shows what is derived from the clock: whether a listener is silent, whether a lease is over.
 * A lease that is renewed in time and a listener that calls in time don't raise the version; so an answer ends when what it has
 * read would, and one that has read something which has just ended is not kept: it may have been renewed in the same moment.
 */
import type { Deployment, Listener, Prisma } from '../../generated/prisma/client.ts'
import { LISTENER_SILENT_MS } from './status.ts'

/**
 * ms. A renewal that found something not to be over yet raises no version, and is committed within this time, by its limits
 * (platform/postgres/client.ts).
 */
const RENEWAL_COMMIT_MS = 60_000

/** A time at which nothing holds. */
const NOT_CACHEABLE = new Date(0)

type Heard = Pick<Listener, 'lastSeenAt' | 'createdAt'>

/** Of several, each as below; null: the clock changes none of them. */
export function earliest(times: Iterable<Date | null>): Date | null {
  let first: Date | null = null
  for (const time of times) if (time !== null && (first === null || time < first)) first = time
  return first
}

/** Null: it holds for as long as the version; a time in the past: not at all. */
function validUntil(end: Date, now: Date): Date | null {
  if (end > now) return end
  return now.getTime() - end.getTime() < RENEWAL_COMMIT_MS ? NOT_CACHEABLE : null
}

/** Until when a listener is as it is shown now, as holdsTo() says. */
export function listenerValidUntil({ lastSeenAt, createdAt }: Heard, now: Date): Date | null {
  return validUntil(new Date((lastSeenAt ?? createdAt).getTime() + LISTENER_SILENT_MS), now)
}

/** What a deployment's holding depends on. */
export const EXPIRY_FIELDS = {
  deletedAt: true,
  activeRevisionId: true,
  leaseExpiresAt: true,
  listener: { select: { lastSeenAt: true, createdAt: true } },
} as const satisfies Prisma.DeploymentSelect

/** The same for a deployment, with its listener. */
export function deploymentValidUntil(
  {
    deletedAt,
    activeRevisionId,
    leaseExpiresAt,
    listener,
  }: Pick<Deployment, 'deletedAt' | 'activeRevisionId' | 'leaseExpiresAt'> & { listener: Heard | null },
  now: Date,
): Date | null {
  if (deletedAt) return null
  const lease = activeRevisionId !== null && leaseExpiresAt ? validUntil(leaseExpiresAt, now) : null
  return earliest([lease, listener && listenerValidUntil(listener, now)])
}
