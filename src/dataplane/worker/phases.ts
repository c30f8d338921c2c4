/** The phases of a step as spans, one after the other: where its time goes. */
import type { Span, Tracing } from '../../platform/tracing/tracing.ts'

export class Phases {
  readonly #tracing: Tracing
  readonly #traceparent: string
  #name = ''
  #span: Span | null = null

  /** `traceparent`: of the step. */
  constructor(tracing: Tracing, traceparent: string) {
    this.#tracing = tracing
    this.#traceparent = traceparent
  }

  /** Ends the phase before. The same name again changes nothing. */
  begin(name: string): void {
    if (name === this.#name) return
    this.end()
    this.#name = name
    this.#span = this.#tracing.start(name, this.#traceparent)
  }

  end(failure?: string): void {
    this.#span?.end(failure)
    this.#span = null
  }
}
