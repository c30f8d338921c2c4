/** Passes on the ids by which logs and traces find a request, or makes them. */
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { traceIdOf as idOf, validTraceparent } from '../platform/tracing/tracing.ts'

const hex = () => randomUUID().replaceAll('-', '')

/** The id of the request's trace; null: it has no valid one. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | null {
  const valid = validTraceparent(traceparent)
  return valid && idOf(valid)
}

/** Adds `X-Request-Id` and `traceparent` to a request that has none. */
export function addTraceIds({ headers }: IncomingMessage): void {
  headers['x-request-id'] ||= randomUUID()
  if (validTraceparent(headers.traceparent)) return
  // sampled, as an agent's first span is by default
  headers.traceparent = `00-${hex()}-${hex().slice(0, 16)}-01`
  // it belongs to the invalid one
  delete headers.tracestate
}
