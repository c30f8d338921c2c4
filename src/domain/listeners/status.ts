/** A listener's status, derived from its last call and never stored (docs/protocol.md). */
import { isSilent } from '../deployment-status/status.ts'

export const LISTENER_STATUSES = ['ONLINE', 'OFFLINE'] as const
export type ListenerStatus = (typeof LISTENER_STATUSES)[number]

/** OFFLINE: the listener never called, or not for 90 s. Its deployments are then UNKNOWN. */
export function listenerStatus(listener: { lastSeenAt: Date | null; createdAt: Date }, now: Date): ListenerStatus {
  return listener.lastSeenAt === null || isSilent(listener, now) ? 'OFFLINE' : 'ONLINE'
}

/** Derived fields, with the columns that each needs. */
export const LISTENER_DERIVED = {
  status: { select: { lastSeenAt: true, createdAt: true }, derive: listenerStatus },
} as const
