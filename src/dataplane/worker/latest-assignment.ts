/** Keeps the latest assignment and its arrival time. Step deadlines count from then, by this process's clock. */
import type { Assignment, Step } from '../../domain/protocol/protocol.ts'
import type { TimedStep } from '../runtimes/runtime.ts'

export class LatestAssignment {
  #assignment: Assignment
  #at = performance.now()

  constructor(first: Assignment) {
    this.#assignment = first
  }

  get assignment(): Assignment {
    return this.#assignment
  }

  /** Keeps the assignment with the larger generation. `also`: accepts an equal generation. False: it is older. */
  take(assignment: Assignment, also: 'the same' | null = null): boolean {
    const newer = assignment.generation - this.#assignment.generation
    if (newer < 0 || (newer === 0 && !also)) return false
    this.#assignment = assignment
    this.#at = performance.now()
    return true
  }

  /** Adds the deadline to a step: its remaining time counts from the arrival. */
  timed(step: Step): TimedStep {
    return { ...step, deadline: this.#at + step.secondsLeft * 1000 }
  }
}
