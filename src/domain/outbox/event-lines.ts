/** Writes one line to the server's log per event of a deployment: «my-agent #3 DEPLOYED in 4.2 s». */
import type { RevisionStatus, StepKind, StepOutcome } from '../../generated/prisma/enums.ts'
import type { Log } from '../../platform/log/log.ts'

export interface AppendedEvent {
  workspaceId: string
  type: string
  deploymentId: string | null
  revisionId: string | null
  to: RevisionStatus | null
  reason: string | null
  message: string | null
  traceId: string | null
  /** null: the event concerns no deployment */
  name: string | null
  /** null: the event concerns no revision */
  number: number | null
  /** from the beginning of the attempt to this event; null unless the event ends the attempt */
  seconds: number | null
}

/** Intermediate statuses. They are only in the event log. */
const QUIET: ReadonlySet<RevisionStatus> = new Set(['QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'])

/** Call it after the commit. */
export function logEvents(log: Log, appended: readonly AppendedEvent[]): void {
  for (const event of appended) {
    const { to, workspaceId, type, deploymentId, revisionId, traceId } = event
    if (deploymentId === null || (to && QUIET.has(to))) continue
    const fields = {
      workspaceId,
      type,
      deploymentId,
      ...(revisionId && { revisionId }),
      ...(traceId && { trace_id: traceId }),
    }
    log[to?.endsWith('_FAILED') ? 'warn' : 'info'](fields, lineOf(event))
  }
}

export function lineOf({ type, to, message, name, number, seconds }: AppendedEvent): string {
  const why = message ? `: ${message.split('\n', 1)[0]}` : ''
  if (to === null || number === null) return `${name}: ${type.replaceAll(/[._]/g, ' ')}${why}`
  const took = seconds === null ? '' : ` ${to === 'DEPLOYED' ? 'in' : 'after'} ${seconds.toFixed(1)} s`
  return `${name} #${number} ${to}${took}${why}`
}

export interface EndedStep {
  kind: StepKind
  outcome: StepOutcome
  /** since the step was first taken; null: it never was */
  seconds: number | null
}

export interface Observer {
  appended(events: readonly AppendedEvent[]): void
  stepEnded(step: EndedStep): void
  leasesLost(count: number): void
  logged(lines: number): void
  swept(seconds: number): void
  /** A try to deliver an event to a webhook endpoint has ended. */
  webhookTried(result: 'delivered' | 'refused' | 'unanswered'): void
  /** Events were sent to streams. `seconds`: age of the last one. */
  relayed(seconds: number): void
}
