/** Passes on the ids by which logs and traces find a request, or makes them. */
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** W3C Trace Context, 3.2 */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-|$)/

const hex = () => randomUUID().replaceAll('-', '')

/** The id of the request's trace; null: it has no valid one. */
export const traceIdOf = ({ traceparent }: IncomingHttpHeaders): string | null =>
  TRACEPARENT.test(String(traceparent)) ? String(traceparent).split('-')[1]! : null

/** Adds `X-Request-Id` and `traceparent` to a request that has none. */
export function addTraceIds({ headers }: IncomingMessage): void {
  headers['x-request-id'] ||= randomUUID()
  if (TRACEPARENT.test(String(headers.traceparent))) return
  // sampled, as an agent's first span is by default
  headers.traceparent = `00-${hex()}-${hex().slice(0, 16)}-01`
  // it belongs to the invalid one
  delete headers.tracestate
}
