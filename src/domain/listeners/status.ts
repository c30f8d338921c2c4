/** Whether a listener can be counted on: derived from when it was last heard from, never stored (contract 7). */
import { isSilent } from '../deployments/status.ts'

export const LISTENER_STATUSES = ['ONLINE', 'OFFLINE'] as const
export type ListenerStatus = (typeof LISTENER_STATUSES)[number]

/** OFFLINE exactly when its deployments are UNKNOWN. A listener that never called counts from its creation. */
export function listenerStatus(listener: { lastSeenAt: Date | null; createdAt: Date }, now: Date): ListenerStatus {
  return isSilent(listener, now) ? 'OFFLINE' : 'ONLINE'
}
