/** Events over REST: as server-sent events resumed with `Last-Event-ID`, and as JSON pages in a polling loop. */
import type http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { readStream } from './sse.ts'
import { CUT, type End, type Got, NO_ANSWER, type Scope, says, type Wire } from './wire.ts'

/** Pause in ms between two polls at the end of the log. */
const POLL_INTERVAL_MS = 200

export function restSse(pace?: (response: http.IncomingMessage) => void): Wire {
  return ({ url, key, scope, after, got, at, heard, signal }) =>
    readStream({
      url: url + pathOf(scope),
      method: 'GET',
      headers: { 'x-api-key': key, accept: 'text/event-stream', ...(after && { 'last-event-id': after }) },
      signal,
      heard,
      at,
      pace,
      message({ event, id, data }) {
        if (event === 'complete') return { how: 'complete' }
        const body = JSON.parse(data)
        if (event === 'error') return { how: body.code, cursor: body.cursor }
        got(eventOf(body, id))
      },
    })
}

export const restPages: Wire = async ({ url, key, scope, after, got, at, heard, signal }) => {
  let cursor = after
  let answered = false
  try {
    for (;;) {
      const query = new URLSearchParams({ limit: '100', ...(cursor && { after: cursor }) })
      const response = await fetch(`${url}${pathOf(scope)}?${query}`, { headers: { 'x-api-key': key }, signal })
      const body = await response.json()
      if (!response.ok) return { how: `${response.status} ${body.code}` } satisfies End
      heard()
      answered = true
      for (const event of body.resources) got(eventOf(event, event.cursor))
      cursor = body.next_cursor
      at(cursor!)
      if (body.resources.length === 0) await sleep(POLL_INTERVAL_MS, undefined, { signal })
    }
  } catch {
    return answered ? CUT : NO_ANSWER
  }
}

function pathOf({ deploymentId, revisionId }: Scope): string {
  if (deploymentId === undefined) return '/v2/events'
  const deployment = `/v2/deployments/${deploymentId}`
  return `${deployment}${revisionId === undefined ? '' : `/revisions/${revisionId}`}/events`
}

// biome-ignore lint/suspicious/noExplicitAny: an event as REST presents it
function eventOf({ cursor, type, revision_id, to, attempt }: any, id: string | null): Got {
  // both cursors must be equal; otherwise report a cursor that does not exist
  return {
    cursor: cursor === id ? cursor : `${cursor}≠${id}`,
    says: says({ type, revisionId: revision_id, to, attempt }),
  }
}
