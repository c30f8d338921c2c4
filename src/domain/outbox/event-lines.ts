/** Writes one line to the server's log per event of a deployment: «my-agent #3 DEPLOYED in 4.2 s». */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import type { Log } from '../../platform/log/log.ts'

/** An event as it was appended, with the names that people know. */
export interface AppendedEvent {
  workspaceId: string
  type: string
  deploymentId: string | null
  revisionId: string | null
  to: RevisionStatus | null
  /** of a transition (domain/reasons.ts); null: there is none */
  reason: string | null
  message: string | null
  /** the deployment's; null: the event is of none */
  name: string | null
  /** the revision's; null: the event is of none */
  number: number | null
  /** from the beginning of the attempt to this event; null where it is no end */
  seconds: number | null
}

/** Statuses that are only passed through or waited in: the event log has them. */
const QUIET: ReadonlySet<RevisionStatus> = new Set(['QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'])

/** Call it when they are committed. */
export function logEvents(log: Log, appended: readonly AppendedEvent[]): void {
  for (const event of appended) {
    const { to, workspaceId, type, deploymentId, revisionId } = event
    if (deploymentId === null || (to && QUIET.has(to))) continue
    const fields = { workspaceId, type, deploymentId, ...(revisionId && { revisionId }) }
    log[to?.endsWith('_FAILED') ? 'warn' : 'info'](fields, lineOf(event))
  }
}

/** Of a message with several lines the first one: the rest is for `status_message`. */
export function lineOf({ type, to, message, name, number, seconds }: AppendedEvent): string {
  const why = message ? `: ${message.split('\n', 1)[0]}` : ''
  // `deployment.torn_down` → «deployment torn down»
  if (to === null || number === null) return `${name}: ${type.replaceAll(/[._]/g, ' ')}${why}`
  const took = seconds === null ? '' : ` ${to === 'DEPLOYED' ? 'in' : 'after'} ${seconds.toFixed(1)} s`
  return `${name} #${number} ${to}${took}${why}`
}
