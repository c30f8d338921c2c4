/** A test client of server-sent events that records them. */
import { onTestFinished } from 'vitest'
import type { TestApp } from './app.ts'

interface SseEvent {
  id: string | null
  event: string
  // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
  data: any
}

export interface SseClient {
  status: number
  headers: Headers
  /** The next event; null: the connection has ended. */
  next(): Promise<SseEvent | null>
  take(count: number): Promise<SseEvent[]>
  /** All events until the connection ends. */
  rest(): Promise<SseEvent[]>
  /** The body as JSON, if the answer isn't a stream. */
  // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape
  json(): Promise<any>
  close(): void
}

/** Closed at the end of the test. `body`: sent by POST. */
export async function openEvents(
  url: string,
  headers: Record<string, string>,
  body: object | null = null,
): Promise<SseClient> {
  const gone = new AbortController()
  onTestFinished(() => gone.abort())
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', ...(body && { 'content-type': 'application/json' }), ...headers },
    signal: gone.signal,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  const events = response.headers.get('content-type')?.startsWith('text/event-stream')
    ? eventsOf(response)
    : (async function* () {})()
  async function next() {
    const { done, value } = await events.next()
    return done ? null : value
  }
  return {
    status: response.status,
    headers: response.headers,
    next,
    async take(count) {
      const taken: SseEvent[] = []
      for (let event = null; taken.length < count; taken.push(event)) {
        event = await next()
        if (event === null) break
      }
      return taken
    },
    async rest() {
      const taken: SseEvent[] = []
      for (let event = await next(); event !== null; event = await next()) taken.push(event)
      return taken
    },
    json: () => response.json(),
    close: () => gone.abort(),
  }
}

/** A GraphQL subscription, by default of a viewer and by POST. */
export function subscribe(
  { url, keys }: Pick<TestApp, 'url' | 'keys'>,
  query: string,
  variables: object,
  { key = keys.viewer, method = 'POST', headers = {} } = {},
): Promise<SseClient> {
  const params = new URLSearchParams({ query, variables: JSON.stringify(variables) })
  const [target, body] = method === 'GET' ? [`?${params}`, null] : ['', { query, variables }]
  return openEvents(`${url}/graphql${target}`, { 'x-api-key': key, ...headers }, body)
}

/** Blocks with data; an id alone applies to the next one, as in clients. */
async function* eventsOf(response: Response): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder()
  let text = ''
  let id: string | null = null
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      id = field('id') ?? id
      const data = field('data')
      if (data !== undefined) yield { id, event: field('event') ?? 'message', data: JSON.parse(data) }
    }
  }
}
