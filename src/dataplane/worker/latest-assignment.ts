/** The assignment that was received last, and when: the time that a step has left counts from then, by our own clock. */
import type { Assignment, Step } from '../../domain/protocol/protocol.ts'
import type { TimedStep } from '../runtimes/runtime.ts'

export class LatestAssignment {
  #assignment: Assignment
  /** performance.now() */
  #at = performance.now()

  constructor(first: Assignment) {
    this.#assignment = first
  }

  get assignment(): Assignment {
    return this.#assignment
  }

  /** Of two that crossed, the one of the larger generation counts; `also`: and one of the same. False: it is an older one. */
  take(assignment: Assignment, also: 'the same' | null = null): boolean {
    const newer = assignment.generation - this.#assignment.generation
    if (newer < 0 || (newer === 0 && !also)) return false
    this.#assignment = assignment
    this.#at = performance.now()
    return true
  }

  /** A step of it with its deadline: when the time is over that was left then. */
  timed(step: Step): TimedStep {
    return { ...step, deadline: this.#at + step.secondsLeft * 1000 }
  }
}
