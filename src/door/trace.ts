/** Passes on the ids by which logs and traces find a request, or makes them. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** W3C Trace Context, 3.2 */
const TRACEPARENT = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-|$)/

const hex = () => randomUUID().replaceAll('-', '')

/** Adds `X-Request-Id` and `traceparent` to a request that has none. */
export function addTraceIds({ headers }: IncomingMessage): void {
  headers['x-request-id'] ||= randomUUID()
  if (TRACEPARENT.test(String(headers.traceparent))) return
  // sampled, as an agent's first span is by default
  headers.traceparent = `00-${hex()}-${hex().slice(0, 16)}-01`
  // it belongs to the invalid one
  delete headers.tracestate
}
