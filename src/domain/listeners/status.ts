/** Whether a listener can be counted on: derived from when it was last heard from, never stored (contract 7). */
import { isSilent } from '../deployments/status.ts'

export const LISTENER_STATUSES = ['ONLINE', 'OFFLINE'] as const
export type ListenerStatus = (typeof LISTENER_STATUSES)[number]

/** OFFLINE: it has never called, or was not heard from for 90 s; then its deployments are UNKNOWN. */
export function listenerStatus(listener: { lastSeenAt: Date | null; createdAt: Date }, now: Date): ListenerStatus {
  return listener.lastSeenAt === null || isSilent(listener, now) ? 'OFFLINE' : 'ONLINE'
}
