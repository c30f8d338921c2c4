/** GraphQL subscriptions over server-sent events (GraphQL over SSE, distinct connections). */
import type http from 'node:http'
import { readStream } from './sse.ts'
import { type Ask, type End, says, type Wire } from './wire.ts'

const FIELDS = {
  light: 'cursor revisionId to attempt',
  // several renderings of the same events
  other: 'cursor revisionId from to attempt message occurredAt',
  // so long that a paused reader is noticed: 25 cursors are 2 KB
  long: `cursor revisionId to attempt ${Array.from({ length: 25 }, (_, i) => `c${i}: cursor`).join(' ')}`,
}

export type Fields = keyof typeof FIELDS

/** Returns the document, and the function that reads an event. */
export function subscriptionOf(scope: Ask['scope'], fields: Fields): { query: string; field: string } {
  const field = scope.status ? 'revisionStatusChanged' : 'events'
  const selection = scope.status ? FIELDS[fields] : `${FIELDS[fields]} type`
  const query = `subscription Follow($deploymentId: ID, $after: String) {
    ${field}(deploymentId: $deploymentId, after: $after) { ${selection} }
  }`
  return { query, field }
}

// biome-ignore lint/suspicious/noExplicitAny: a result of GraphQL
export function endOf(errors: any[] | undefined): End | undefined {
  const extensions = errors?.[0]?.extensions
  return errors && { how: extensions?.code ?? errors[0].message, cursor: extensions?.cursor }
}

export function graphqlSse(fields: Fields = 'light', pace?: (response: http.IncomingMessage) => void): Wire {
  return ({ url, key, scope, after, got, at, heard, signal }) => {
    const { query, field } = subscriptionOf(scope, fields)
    let failed: End | undefined
    return readStream({
      url: `${url}/graphql`,
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query, variables: { deploymentId: scope.deploymentId, after } }),
      signal,
      heard,
      at,
      pace,
      message({ event, id, data }) {
        // an error is also followed by `complete`
        if (event === 'complete') return failed ?? { how: 'complete' }
        const { data: result, errors } = JSON.parse(data)
        failed = endOf(errors)
        if (failed) return failed
        const { cursor } = result[field]
        // both cursors must be equal; otherwise report a cursor that does not exist
        got({ cursor: cursor === id ? cursor : `${cursor}≠${id}`, says: says(result[field]) })
      },
    })
  }
}
