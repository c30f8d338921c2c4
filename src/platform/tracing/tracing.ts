/**
 * Spans of a trace, for code that does not import OpenTelemetry. sdk.ts implements them. Without a collector there is no
 * `Tracing` and no span, so `tracing?.` and `span?.` cost nothing (README.md).
 */
import { hash } from 'node:crypto'

type Attributes = Record<string, string | number | boolean>

export interface SpanOptions {
  /** default: internal */
  kind?: 'server' | 'client' | 'internal'
  /** the `tracestate` header that came with the parent */
  tracestate?: unknown
  /** default: now */
  startedAt?: Date
  attributes?: Attributes
}

/** Work that has begun. */
export interface Span {
  /** W3C Trace Context of the work inside */
  readonly traceparent: string
  child(name: string, options?: SpanOptions): Span
  set(attributes: Attributes): void
  /** `failure`: the reason's code or the error's name, which contain no values; absent: the work did not fail */
  end(failure?: string): void
}

/** The work around others. */
export type ParentSpan = Pick<Span, 'child'>

/** Work that has ended. Its id follows from `key`, so other processes can name it as a parent before it has ended. */
export interface EndedSpan {
  /** traceparent of the work around it */
  parent: string
  /** absent: a random id */
  key?: string
  name: string
  startedAt: Date
  endedAt: Date
  attributes: Attributes
  failure?: string | undefined
}

/** The trace of one request. Its span begins when it is first read, and immediately if the caller records the trace. */
export class RequestTrace {
  /** the request is part of a trace that its caller records */
  readonly isCallers: boolean
  readonly #parent: string | null
  readonly #begin: (parent: string | null) => Span
  #span: Span | null = null

  /** `traceparent`: as the caller sent it. `begin`: begins the span below `parent`, or a trace. */
  constructor(traceparent: unknown, begin: (parent: string | null) => Span) {
    this.#parent = validTraceparent(traceparent)
    this.#begin = begin
    this.isCallers = this.#parent !== null && isSampled(this.#parent)
    if (this.isCallers) this.#span = begin(this.#parent)
  }

  get span(): Span {
    this.#span ??= this.#begin(this.#parent)
    return this.#span
  }
}

export interface Tracing {
  /** Begins a span. `parent`: a traceparent; null: the span begins a trace. */
  start(name: string, parent: string | null, options?: SpanOptions): Span
  record(span: EndedSpan): void
  /** Exports a line of the log; absent: OTEL_LOGS_EXPORTER is none. */
  logLine?: (line: string) => void
  /** Calls back when spans or lines could not be sent. They are lost. */
  onProblem(listener: (problem: Error) => void): void
  /** Sends what is left. Never throws, and ends within a second. */
  stop(): Promise<void>
}

export interface TelemetrySettings {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  OTEL_EXPORTER_OTLP_HEADERS?: string | undefined
  OTEL_SERVICE_NAME?: string | undefined
  OTEL_LOGS_EXPORTER: 'otlp' | 'none'
}

/** W3C Trace Context, 3.2 */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-|$)/

/** The `traceparent` header if it is valid; otherwise null. */
export const validTraceparent = (header: unknown): string | null =>
  typeof header === 'string' && TRACEPARENT.test(header) ? header : null

export const traceIdOf = (traceparent: string): string => traceparent.split('-')[1]!

/** Whether the trace is exported. */
export const isSampled = (traceparent: string): boolean => (Number.parseInt(traceparent.split('-')[3]!, 16) & 1) === 1

/** The id of the ended span with this key. */
export const spanIdOf = (key: string): string => hash('sha256', key).slice(0, 16)

/** The traceparent of the work inside the ended span with this key. */
export function traceparentOf({ parent, key }: { parent: string; key: string }): string {
  const [version, traceId, , flags] = parent.split('-')
  return `${version}-${traceId}-${spanIdOf(key)}-${flags}`
}

/** Options of the span of an outbound call. They have no path and no query, which contain ids and secrets. `host`: may have a port. */
export function clientSpan(host: string, attributes: Attributes = {}): SpanOptions {
  const { hostname, port } = new URL(`http://${host}`)
  const server = { 'server.address': hostname, ...(port && { 'server.port': Number(port) }) }
  return { kind: 'client', attributes: { ...server, ...attributes } }
}

/** Runs `work` in a span that ends with it. Without a span it only runs it. */
export async function inSpan<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  if (!span) return work()
  try {
    const result = await work()
    span.end()
    return result
  } catch (error) {
    // a message may contain values
    span.end((error as Error).name)
    throw error
  }
}

/** Waits for a response in the span of its call, which ends with it. Statuses from 400 on count as failures. */
export async function inHttpSpan<T extends { status: number }>(span: Span | undefined, sent: Promise<T>): Promise<T> {
  try {
    const response = await sent
    const { status } = response
    span?.set({ 'http.response.status_code': status })
    span?.end(status >= 400 ? String(status) : undefined)
    return response
  } catch (error) {
    span?.end((error as Error).name)
    throw error
  }
}
