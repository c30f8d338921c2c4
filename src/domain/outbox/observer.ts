/** Receives the activity of this process, for metrics. Writes are reported after their commit. */
import type { StepKind, StepOutcome } from '../../generated/prisma/enums.ts'
import type { AppendedEvent } from './event-lines.ts'

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
