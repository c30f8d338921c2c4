/**
 * Whether anything answers for a deployment now, its health, and why nothing serves: derived, never stored (contract 3),
 * in this file alone; for a row that was read, as Prisma's where-clause, and as SQL. A test holds the three together.
 *
 * It serves when it has an active revision of which whoever holds it says, now, that a replica is ready. What nobody
 * reports on may well serve; then it is said what was last known.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Because } from '../because.ts'
import { knownReason, type Reason } from '../reasons.ts'
import { isTerminal } from '../revisions/lifecycle.ts'
import { effectiveSpec, type ResourceSpec } from './resource-spec.ts'
import { isSilent, lastHeard, silentBefore } from './status.ts'

/** What all of it is derived from. */
export const SERVING_FIELDS = {
  deletedAt: true,
  activeRevisionId: true,
  leaseExpiresAt: true,
  health: true,
  resourceSpec: true,
  listener: { select: { lastSeenAt: true, createdAt: true } },
  latestRevision: {
    select: { number: true, status: true, statusSince: true, reason: true, reasonSince: true, statusMessage: true },
  },
} as const satisfies Prisma.DeploymentSelect

type ServingFields = Prisma.DeploymentGetPayload<{ select: typeof SERVING_FIELDS }>

/** As it is stored: what the holder last reported. */
interface StoredHealth {
  ready: number
  desired: number
  message: string | null
  reason?: string | null
  /** since when that is so, ISO 8601 */
  observedAt: string
}

export interface DeploymentHealth {
  ready: number
  desired: number
  /** why not all of them serve */
  message: string | null
  reason: Reason | null
  /** null: nothing was reported yet */
  observedAt: Date | null
}

/** Why something is as it is, and since when. */
export interface Standing extends Because {
  since: Date | null
}

const healthIn = ({ health }: Pick<ServingFields, 'health'>) => health as unknown as StoredHealth | null

/** Whether its holder speaks for it at this moment. */
function isObserved({ leaseExpiresAt, listener }: ServingFields, now: Date): boolean {
  return leaseExpiresAt !== null && leaseExpiresAt > now && !(listener && isSilent(listener, now))
}

export function isServing(deployment: ServingFields, now: Date): boolean {
  const { deletedAt, activeRevisionId } = deployment
  const ready = healthIn(deployment)?.ready ?? 0
  return deletedAt === null && activeRevisionId !== null && ready > 0 && isObserved(deployment, now)
}

export function whereServing(serving: boolean, now: Date): Prisma.DeploymentWhereInput {
  const before = silentBefore(now)
  if (serving)
    return {
      deletedAt: null,
      activeRevisionId: { not: null },
      leaseExpiresAt: { gt: now },
      health: { path: ['ready'], gt: 0 },
      OR: [{ listenerId: null }, { listener: lastHeard({ gte: before }) }],
    }
  // spelled out: in SQL the negation of an unknown comparison is unknown too
  return {
    OR: [
      { deletedAt: { not: null } },
      { activeRevisionId: null },
      { leaseExpiresAt: null },
      { leaseExpiresAt: { lte: now } },
      { health: { equals: Prisma.AnyNull } },
      { health: { path: ['ready'], lte: 0 } },
      { listener: lastHeard({ lt: before }) },
    ],
  }
}

/** On deployments `d` and their listeners `l`. */
export function servingSql(now: Date): Prisma.Sql {
  return Prisma.sql`(
    d.deleted_at IS NULL AND d.active_revision_id IS NOT NULL AND coalesce(d.lease_expires_at > ${now}, false)
    AND coalesce((d.health->>'ready')::int, 0) > 0
    AND (l.id IS NULL OR coalesce(l.last_seen_at, l.created_at) >= ${silentBefore(now)}))`
}

/** Why nothing serves; null: something does, or nothing should any more. */
export function whyNotServing(deployment: ServingFields, now: Date): Standing | null {
  if (deployment.deletedAt || isServing(deployment, now)) return null
  if (deployment.activeRevisionId === null) return whileSilent(deployment, now) ?? ofLatest(deployment.latestRevision)
  const health = healthIn(deployment)
  if (!isObserved(deployment, now)) return unobserved(deployment, health, now)
  if (!health) return { reason: 'NOT_READY', message: 'Nothing was reported yet of what should serve.', since: null }
  return {
    reason: knownReason(health.reason, 'NOT_READY'),
    message: `Nothing serves: ${replicas(health)} ready${because(health.message)}`,
    since: new Date(health.observedAt),
  }
}

/** Never null as long as it should serve. */
export function healthOf(deployment: ServingFields, now: Date): DeploymentHealth | null {
  if (deployment.deletedAt) return null
  const stored = healthIn(deployment)
  const why = whyNotServing(deployment, now)
  if (!stored) {
    const desired = effectiveSpec(deployment.resourceSpec as ResourceSpec | null).min_scale
    return { ready: 0, desired, message: why?.message ?? null, reason: why?.reason ?? null, observedAt: null }
  }
  const { ready, desired, message, reason, observedAt } = stored
  return {
    ready,
    desired,
    message: message ?? why?.message ?? null,
    reason: knownReason(reason, message === null ? (why?.reason ?? null) : 'NOT_READY'),
    observedAt: new Date(observedAt),
  }
}

const replicas = ({ ready, desired }: StoredHealth) => `${ready} of ${desired} replicas ${desired === 1 ? 'is' : 'are'}`

/** The first line: below it is only output. */
const because = (message: string | null) => (message ? `: ${message.split('\n', 1)[0]}` : '.')

/** The first rollout was taken by a listener that says nothing any more. Of one that nobody took, its own reason tells. */
function whileSilent({ latestRevision: latest, listener }: ServingFields, now: Date): Standing | null {
  if (!latest || isTerminal(latest.status) || latest.reason !== null || !listener || !isSilent(listener, now))
    return null
  return {
    reason: 'LISTENER_SILENT',
    message: `Nothing serves yet: revision ${latest.number} is ${latest.status}, and its listener is not heard from.`,
    since: listener.lastSeenAt,
  }
}

/** Nothing was ever deployed: the newest revision tells why. */
function ofLatest(latest: ServingFields['latestRevision']): Standing {
  if (!latest) return { reason: 'NOT_READY', message: 'Nothing serves: there is no revision.', since: null }
  const { number, status, statusSince, reason, reasonSince, statusMessage } = latest
  const ended = isTerminal(status)
  return {
    reason: knownReason(reason, ended ? 'NOT_READY' : 'IN_PROGRESS'),
    message: `Nothing serves${ended ? '' : ' yet'}: revision ${number} is ${status}${because(statusMessage)}`,
    since: reasonSince ?? statusSince,
  }
}

function unobserved({ listener, leaseExpiresAt }: ServingFields, health: StoredHealth | null, now: Date): Standing {
  const silent = listener !== null && isSilent(listener, now)
  const who = silent ? 'Its listener is not heard from' : 'Nobody reports on it at the moment'
  const known = health ? `; ${replicas(health)} ready as it was last reported` : ''
  return {
    reason: silent ? 'LISTENER_SILENT' : 'NOT_OBSERVED',
    message: `${who}, so nobody knows whether it serves${known}.`,
    since: (silent ? listener.lastSeenAt : leaseExpiresAt) ?? null,
  }
}
