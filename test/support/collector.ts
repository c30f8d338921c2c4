/** An OTLP collector: it keeps the spans and log lines that it is sent as JSON. */
import { text } from 'node:stream/consumers'
import { startHttp } from './web-server.ts'

export interface CollectedSpan {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId?: string
  traceState?: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  status: { code?: number; message?: string }
  attributes: Record<string, unknown>
  /** OTEL_SERVICE_NAME */
  service: unknown
}

interface CollectedLine {
  traceId?: string
  body: { stringValue: string }
  severityText: string
  attributes: Record<string, unknown>
}

/** the number of the kind in OTLP */
const CLIENT = 3

type KeyValue = { key: string; value: Record<string, unknown> }
const members = (pairs: KeyValue[] = []) =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]))

export async function startCollector() {
  const spans: CollectedSpan[] = []
  const lines: CollectedLine[] = []
  const headers: Record<string, unknown>[] = []
  const http = await startHttp(async (request, response) => {
    const sent = JSON.parse(await text(request))
    headers.push(request.headers)
    for (const { resource, scopeSpans } of sent.resourceSpans ?? [])
      for (const { spans: own } of scopeSpans)
        for (const span of own)
          spans.push({
            ...span,
            attributes: members(span.attributes),
            service: members(resource.attributes)['service.name'],
          })
    for (const { scopeLogs } of sent.resourceLogs ?? [])
      for (const { logRecords } of scopeLogs)
        for (const line of logRecords) lines.push({ ...line, attributes: members(line.attributes) })
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  /** In the order of their starts. */
  const childrenOf = (traceId: string, spanId: string | undefined) =>
    spans
      .filter((one) => one.traceId === traceId && one.parentSpanId === spanId)
      .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)))
  /** Names of the spans below the span with this name. */
  function below(traceId: string, name: string): string[] {
    const parent = spans.find((one) => one.traceId === traceId && one.name === name)
    return parent ? childrenOf(traceId, parent.spanId).map((one) => one.name) : []
  }
  /** Spans of outbound calls in a trace. */
  const calls = (traceId: string) => spans.filter((one) => one.traceId === traceId && one.kind === CLIENT)
  return { ...http, calls, spans, lines, headers, childrenOf, below }
}

export type Collector = Awaited<ReturnType<typeof startCollector>>

/** A collector for a server in this process: its SDK reads variables of the process. Call it before the server starts. */
export async function collectorHere() {
  const collector = await startCollector()
  const settings = sentTo(collector)
  Object.assign(process.env, settings)
  async function close(): Promise<void> {
    // the next test file runs in this process
    for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name]
    await collector.close()
  }
  return { ...collector, settings, close }
}

/** The variables of a program that sends to it. */
export const sentTo = ({ origin }: { origin: string }) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: origin,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '100',
  OTEL_BLRP_SCHEDULE_DELAY: '100',
})
