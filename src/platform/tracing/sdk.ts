/** Sends spans and log lines with OpenTelemetry's SDK, which reads its OTEL_ variables itself. Imported only when it is needed. */
import { hostname } from 'node:os'
import type { Span as OtelSpan, SpanContext } from '@opentelemetry/api'
import { logs } from '@opentelemetry/api-logs'
import { api, core, NodeSDK, resources, tracing } from '@opentelemetry/sdk-node'
import { VERSION } from '../files/checkout.ts'
import {
  type EndedSpan,
  isSampled,
  type Span,
  type SpanOptions,
  spanIdOf,
  type TelemetrySettings,
  type Tracing,
} from './tracing.ts'

const { createTraceState, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api
const { defaultResource, envDetector, resourceFromAttributes } = resources
/** A server must end within 10 s, and has spent most of them when it stops this. */
const STOP_TIMEOUT_MS = 1000
const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }
/** Levels of the log, with their numbers in OpenTelemetry's data model. */
const SEVERITIES: Record<string, number> = { debug: 5, info: 9, warn: 13, error: 17, fatal: 21 }

export function startSdk(settings: TelemetrySettings): Tracing {
  // settings may come from files, and the SDK reads variables only
  for (const [name, value] of Object.entries(settings)) if (value) process.env[name] = value
  let problem: (error: Error) => void = () => undefined
  core.setGlobalErrorHandler((error) => problem(error instanceof Error ? error : new Error(String(error))))
  const ids = new tracing.RandomIdGenerator()
  let givenId: string | null = null
  const sdk = new NodeSDK({
    // each span is given its parent: the default manager's AsyncLocalStorage costs Node 20 a tenth of every request
    contextManager: null as never,
    textMapPropagator: null,
    metricReaders: [],
    // the other detectors add the command line, and load files that a bundle lacks
    resourceDetectors: [envDetector],
    resource: defaultResource().merge(
      resourceFromAttributes({ 'service.version': VERSION, 'host.name': hostname(), 'process.pid': process.pid }),
    ),
    ...(settings.OTEL_LOGS_EXPORTER === 'none' ? { logRecordProcessors: [] } : {}),
    idGenerator: {
      generateTraceId: ids.generateTraceId,
      generateSpanId() {
        const id = givenId ?? ids.generateSpanId()
        givenId = null
        return id
      },
    },
  })
  sdk.start()
  const tracer = trace.getTracer('pilothouse', VERSION)
  const logger = logs.getLogger('pilothouse', VERSION)

  function begin(name: string, parent: SpanContext | null, { kind, startedAt, attributes }: SpanOptions): OtelSpan {
    const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
    const options = { kind: KINDS[kind ?? 'internal'], ...(startedAt && { startTime: startedAt }) }
    return tracer.startSpan(name, { ...options, ...(attributes && { attributes }) }, context)
  }

  const wrap = (span: OtelSpan): Span => {
    const own = span.spanContext()
    return {
      traceparent: `00-${own.traceId}-${own.spanId}-0${own.traceFlags}`,
      child: (name, options = {}) => wrap(begin(name, own, options)),
      set: (attributes) => span.setAttributes(attributes),
      end(failure) {
        fail(span, failure)
        span.end()
      },
    }
  }

  return {
    start: (name, parent, options = {}) =>
      wrap(begin(name, parent === null ? null : contextOf(parent, options.tracestate), options)),
    record({ parent, key, name, startedAt, endedAt, attributes, failure }: EndedSpan) {
      if (!isSampled(parent)) return
      givenId = key === undefined ? null : spanIdOf(key)
      const span = begin(name, contextOf(parent), { startedAt, attributes })
      fail(span, failure)
      span.end(endedAt)
    },
    ...(settings.OTEL_LOGS_EXPORTER === 'otlp' && {
      logLine(line) {
        const { level, time, msg, trace_id: traceId, ...attributes } = JSON.parse(line)
        const severity = { severityText: level, severityNumber: SEVERITIES[level] ?? 0 }
        const context = traceId && contextOf(`00-${traceId}-${traceId.slice(0, 16)}-01`)
        const about = context && { context: trace.setSpanContext(ROOT_CONTEXT, context) }
        logger.emit({ ...severity, timestamp: new Date(time), body: msg, attributes, ...about })
      },
    }),
    onProblem(listener) {
      problem = listener
    },
    async stop() {
      const late = new Promise((resolve) => setTimeout(resolve, STOP_TIMEOUT_MS).unref())
      await Promise.race([sdk.shutdown(), late]).catch(() => undefined)
      // the providers are global, and the next SDK of this process could not set its own
      trace.disable()
      logs.disable()
    },
  }
}

function fail(span: OtelSpan, failure: string | undefined): void {
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure })
}

function contextOf(traceparent: string, tracestate?: unknown): SpanContext {
  const [, traceId, spanId, flags] = traceparent.split('-') as [string, string, string, string]
  const state = typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true, ...state }
}
