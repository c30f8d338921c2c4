/** The phases of a step as spans, one after the other: where its time goes. */
import {
  clientSpan,
  type ParentSpan,
  type Span,
  type SpanOptions,
  type Tracing,
} from '../../platform/tracing/tracing.ts'

export class Phases implements ParentSpan {
  readonly #tracing: Tracing
  readonly #traceparent: string
  #name = ''
  #span: Span | null = null

  /** `traceparent`: of the step. */
  constructor(tracing: Tracing, traceparent: string) {
    this.#tracing = tracing
    this.#traceparent = traceparent
  }

  /** Ends the phase before. The same name again changes nothing. `server`: the host that the phase calls. */
  begin(name: string, server?: string): void {
    if (name === this.#name) return
    this.end()
    this.#name = name
    this.#span = this.#tracing.start(name, this.#traceparent, server === undefined ? {} : clientSpan(server))
  }

  /** Begins a span of the phase. */
  child(name: string, options?: SpanOptions): Span {
    return this.#span?.child(name, options) ?? this.#tracing.start(name, this.#traceparent, options)
  }

  end(failure?: string): void {
    this.#span?.end(failure)
    this.#span = null
  }
}
