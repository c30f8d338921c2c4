/** Restarts of agents that ended by themselves: how a deployment counts reports, and which of them are events. Pure. */
import type { Reason } from '../errors/reasons.ts'

/** Why and when an agent ended that was then started again. */
interface RestartCause {
  /** ISO 8601, by the holder's clock */
  at: string
  reason: Reason
  /** null: ended by a signal, or unknown */
  exitCode: number | null
  /** such as SIGTERM; null: it exited */
  signal: string | null
  message: string
}

export interface ReportedRestart extends RestartCause {
  /** the same in each report of one restart */
  id: string
  /** revision of the agent that ended */
  revisionId: string
}

/** `deployments.restarts` */
export interface StoredRestarts {
  count: number
  last: RestartCause & { revisionId: string }
  /** the newest reported restarts: reports repeat them */
  seen: { id: string; at: string }[]
  /** by reason: when the last event was emitted, and the number of restarts since then */
  told: Partial<Record<Reason, { at: string; since: number }>>
}

/** `count`: the number of restarts for this reason since the last event */
export type RestartEvent = Pick<ReportedRestart, 'reason' | 'message' | 'revisionId'> & { count: number }

/** At most one event for each reason in this time. */
const EVENT_INTERVAL_MS = 60_000
/** More than holders report together. Alert rules count them. */
export const MAX_SEEN = 100

/** Adds reports to the stored restarts. Reports of known restarts change nothing. */
export function countRestarts(
  stored: StoredRestarts | null,
  reports: readonly ReportedRestart[],
  now: Date,
): { restarts: StoredRestarts | null; events: RestartEvent[] } {
  const events: RestartEvent[] = []
  let restarts = stored
  for (const { id, ...cause } of reports.toSorted((a, b) => a.at.localeCompare(b.at))) {
    const { count = 0, seen = [], told = {} } = restarts ?? {}
    // ids of older restarts are forgotten
    const isOld = seen.length === MAX_SEEN && cause.at < seen[0]!.at
    if (isOld || seen.some((known) => known.id === id)) continue
    const before = told[cause.reason]
    const isDue = !before || now.getTime() - Date.parse(before.at) >= EVENT_INTERVAL_MS
    const since = (before?.since ?? 0) + 1
    const { reason, message, revisionId } = cause
    if (isDue) events.push({ reason, message, revisionId, count: since })
    restarts = {
      count: count + 1,
      last: restarts && restarts.last.at > cause.at ? restarts.last : cause,
      seen: [...seen, { id, at: cause.at }].sort((a, b) => a.at.localeCompare(b.at)).slice(-MAX_SEEN),
      told: { ...told, [reason]: isDue ? { at: now.toISOString(), since: 0 } : { ...before, since } },
    }
  }
  return { restarts, events }
}

interface WithRestarts {
  restarts: unknown
}
const storedRestarts = ({ restarts }: WithRestarts) => restarts as StoredRestarts | null

export const restartCount = (deployment: WithRestarts): number => storedRestarts(deployment)?.count ?? 0

export type LastRestart = Omit<StoredRestarts['last'], 'at'> & { at: Date }

/** null: no agent of it has ended by itself */
export function lastRestart(deployment: WithRestarts): LastRestart | null {
  const stored = storedRestarts(deployment)
  return stored && { ...stored.last, at: new Date(stored.last.at) }
}
