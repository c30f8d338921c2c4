/** The fields of a listener that are derived from its row: from which columns, and how. */
import { listenerStatus } from './status.ts'

/** They change with the clock, as `listenerHolds` says. */
export const LISTENER_DERIVED = {
  status: { select: { lastSeenAt: true, createdAt: true }, of: listenerStatus },
} as const
