/**
 * Whether a deployment serves, its health, and why nothing serves: derived, never stored (README.md). For a row and as SQL;
 * a test compares both.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import { knownReason, type Reason } from '../errors/reasons.ts'
import type { Explanation } from '../values/explanation.ts'
import { isTerminal, STATUS_WORDS } from '../values/lifecycle.ts'
import { effectiveSpec, type ResourceSpec } from '../values/resource-spec.ts'
import { isSilent, silentBefore } from './status.ts'

export const SERVING_FIELDS = {
  deletedAt: true,
  activeRevisionId: true,
  idle: true,
  leaseExpiresAt: true,
  health: true,
  resourceSpec: true,
  listener: { select: { lastSeenAt: true, createdAt: true } },
  latestRevision: {
    select: { number: true, status: true, statusSince: true, reason: true, reasonSince: true, statusMessage: true },
  },
} as const satisfies Prisma.DeploymentSelect

type ServingFields = Prisma.DeploymentGetPayload<{ select: typeof SERVING_FIELDS }>

/** The last report of the lease holder, as stored. */
interface StoredHealth {
  ready: number
  desired: number
  message: string | null
  reason?: string | null
  /** replaced replicas that finish their runs; absent: none */
  draining?: number
  /** the `restartedAt` of the newest restart that is done, ISO 8601; absent: none is known */
  restartedAt?: string
  /** since when the report has been the same, ISO 8601 */
  observedAt: string
}

export interface DeploymentHealth {
  ready: number
  desired: number
  /** replaced replicas that take no new work and finish their runs */
  draining: number
  /** why not all replicas are ready */
  message: string | null
  reason: Reason | null
  /** null: nothing was reported yet */
  observedAt: Date | null
}

/** Like a condition in Kubernetes. */
export interface Condition extends Explanation {
  since: Date | null
}

const storedHealth = ({ health }: Pick<ServingFields, 'health'>) => health as unknown as StoredHealth | null

/** Whether a holder with a valid lease reports on it. */
function isObserved({ leaseExpiresAt, listener }: ServingFields, now: Date): boolean {
  return leaseExpiresAt !== null && leaseExpiresAt > now && !(listener && isSilent(listener, now))
}

/** A sleeping deployment serves: the next request starts its agent. */
export function isServing(deployment: ServingFields, now: Date): boolean {
  const { deletedAt, activeRevisionId, idle } = deployment
  const ready = storedHealth(deployment)?.ready ?? 0
  return deletedAt === null && activeRevisionId !== null && (idle || ready > 0) && isObserved(deployment, now)
}

/** On deployments `d` and their listeners `l`. */
export function servingSql(now: Date): Prisma.Sql {
  return Prisma.sql`(
    d.deleted_at IS NULL AND d.active_revision_id IS NOT NULL AND coalesce(d.lease_expires_at > ${now}, false)
    AND (d.idle OR coalesce((d.health->>'ready')::int, 0) > 0)
    AND (l.id IS NULL OR coalesce(l.last_seen_at, l.created_at) >= ${silentBefore(now)}))`
}

export const RESTART_FIELDS = {
  activeRevisionId: true,
  restartedAt: true,
  health: true,
} as const satisfies Prisma.DeploymentSelect

/** Whether a requested restart is not done yet. */
export function isRestarting(deployment: Prisma.DeploymentGetPayload<{ select: typeof RESTART_FIELDS }>): boolean {
  const { activeRevisionId, restartedAt } = deployment
  return (
    activeRevisionId !== null &&
    restartedAt !== null &&
    storedHealth(deployment)?.restartedAt !== restartedAt.toISOString()
  )
}

/** Null: something serves, or the deployment is being deleted. */
export function whyNotServing(deployment: ServingFields, now: Date): Condition | null {
  if (deployment.deletedAt || isServing(deployment, now)) return null
  if (deployment.activeRevisionId === null)
    return silentListenerCondition(deployment, now) ?? latestRevisionCondition(deployment.latestRevision)
  const health = storedHealth(deployment)
  if (!isObserved(deployment, now)) return unobservedCondition(deployment, health, now)
  if (!health)
    return {
      reason: 'NOT_READY',
      message: 'Its worker has not reported yet whether the active revision serves.',
      since: null,
    }
  return {
    reason: knownReason(health.reason, 'NOT_READY'),
    message: causeOf(health.message) ?? `${replicas(health)} ready; nothing serves.`,
    since: new Date(health.observedAt),
  }
}

/** Null only while the deployment is being deleted. */
export function healthOf(deployment: ServingFields, now: Date): DeploymentHealth | null {
  if (deployment.deletedAt) return null
  const stored = storedHealth(deployment)
  const why = whyNotServing(deployment, now)
  if (!stored) {
    const desired = effectiveSpec(deployment.resourceSpec as ResourceSpec | null).min_scale
    const { message = null, reason = null } = why ?? {}
    return { ready: 0, desired, draining: 0, message, reason, observedAt: null }
  }
  const { ready, desired, draining = 0, message, reason, observedAt } = stored
  return {
    ready,
    desired,
    draining,
    message: message ?? why?.message ?? null,
    reason: knownReason(reason, message === null ? (why?.reason ?? null) : 'NOT_READY'),
    observedAt: new Date(observedAt),
  }
}

const replicas = ({ ready, desired }: StoredHealth) =>
  `${ready} of ${desired} ${desired === 1 ? 'replica is' : 'replicas are'}`

/** The other lines of a message are output. */
export const firstLine = (text: string): string => text.split('\n', 1)[0]!

/** The first line of a message; null: it has no text. Other fields name the revision and what serves. */
export const causeOf = (message: string | null): string | null => (message && firstLine(message)) || null

/**
 * Set if the listener fell silent while it worked on the first rollout. A step that was not taken has a separate
 * reason.
 */
function silentListenerCondition({ latestRevision: latest, listener }: ServingFields, now: Date): Condition | null {
  if (!latest || isTerminal(latest.status) || latest.reason !== null || !listener || !isSilent(listener, now))
    return null
  return {
    reason: 'LISTENER_SILENT',
    message: `Nothing serves yet: revision ${latest.number} ${STATUS_WORDS[latest.status]}, and its listener is silent.`,
    since: listener.lastSeenAt,
  }
}

/** Without an active revision, the latest one says why. */
function latestRevisionCondition(latest: ServingFields['latestRevision']): Condition {
  if (!latest) return { reason: 'NOT_READY', message: 'Nothing serves: there is no revision.', since: null }
  const { number, status, statusSince, reason, reasonSince, statusMessage } = latest
  const ended = isTerminal(status)
  return {
    reason: knownReason(reason, ended ? 'NOT_READY' : 'IN_PROGRESS'),
    message:
      causeOf(statusMessage) ?? `Revision ${number} ${STATUS_WORDS[status]}; nothing serves${ended ? '' : ' yet'}.`,
    since: reasonSince ?? statusSince,
  }
}

function unobservedCondition(
  { listener, leaseExpiresAt }: ServingFields,
  health: StoredHealth | null,
  now: Date,
): Condition {
  const silent = listener !== null && isSilent(listener, now)
  const who = silent ? 'Its listener is silent' : 'No worker reports on it at the moment'
  const known = health ? `; the last report says that ${replicas(health)} ready` : ''
  return {
    reason: silent ? 'LISTENER_SILENT' : 'NOT_OBSERVED',
    message: `${who}, so it is unknown whether it serves${known}.`,
    since: (silent ? listener.lastSeenAt : leaseExpiresAt) ?? null,
  }
}
