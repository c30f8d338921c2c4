/** What this process does, for whoever counts it. Everything is told when it is committed, and never otherwise. */
import type { StepKind, StepOutcome } from '../generated/prisma/enums.ts'
import type { Happening } from './events/journal.ts'

export interface EndedStep {
  kind: StepKind
  outcome: StepOutcome
  /** since it was first taken; null: it never was */
  seconds: number | null
}

export interface Observer {
  /** Events were written. */
  happened(events: readonly Happening[]): void
  stepEnded(step: EndedStep): void
  /** Somebody took over what others had held, whose leases had run out. */
  leasesLost(count: number): void
  /** Log lines of builds and agents were written. */
  logged(lines: number): void
  /** A round of the sweep is over. */
  swept(seconds: number): void
  /** Events were handed to the streams; the last one was so many seconds old. */
  relayed(seconds: number): void
}
