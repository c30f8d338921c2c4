/** Receives what this process does, for metrics. Writes are reported after their commit. */
import type { StepKind, StepOutcome } from '../../generated/prisma/enums.ts'
import type { AppendedEvent } from './event-lines.ts'

export interface EndedStep {
  kind: StepKind
  outcome: StepOutcome
  /** since it was first taken; null: it never was */
  seconds: number | null
}

export interface Observer {
  /** Events were written. */
  appended(events: readonly AppendedEvent[]): void
  stepEnded(step: EndedStep): void
  /** Expired leases were taken over. */
  leasesLost(count: number): void
  /** Log lines of builds and agents were written. */
  logged(lines: number): void
  /** A round of the sweep is over. */
  swept(seconds: number): void
  /** Events were handed to the streams; the last one was so many seconds old. */
  relayed(seconds: number): void
}
