/** A client that stops reading its stream: the server's buffer is bounded, and the client learns where to resume. */
import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { announce } from '../realtime/support.ts'
import { useApp } from '../support/app.ts'

const app = useApp()

/** The number of the server's streams and of their unsent bytes. */
function watchServer() {
  const { core, fastify } = app.app
  const answers: http.ServerResponse[] = []
  fastify.server.on('request', (_request, answer: http.ServerResponse) => answers.push(answer))
  return {
    streams: () => core.slots!.streams.inUse,
    unsent: () => answers.map((answer) => answer.socket?.writableLength ?? 0),
  }
}

/** Opens a stream of the workspace. The caller starts reading. */
async function subscribe(after?: string): Promise<http.IncomingMessage> {
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json', 'x-api-key': app.keys.viewer }
  const request = http.request(`${app.url}/graphql`, { method: 'POST', headers, agent: false })
  const query = 'subscription ($after: String) { revisionStatusChanged(after: $after) { cursor message } }'
  request.end(JSON.stringify({ query, variables: { after } }))
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return response
}

test('a slow client has a bounded buffer and resumes without loss after its stream was ended', async () => {
  const { streams, unsent } = watchServer()
  const response = await subscribe()
  // large, so that the sockets' buffers fill fast
  const padding = 'x'.repeat(8_000)
  let said = 0
  while (streams() > 0) {
    const messages = Array.from({ length: 250 }, () => `${said++} ${padding}`)
    await announce(app.app.core, app.tenant.workspaceId, messages)
    expect(Math.max(...unsent())).toBeLessThan(150_000)
  }

  const results = [...(await text(response)).matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))
  const { errors } = results.pop()
  const heard = results.map(({ data }) => data.revisionStatusChanged)
  const { cursor } = heard.at(-1)
  expect(errors[0].extensions).toEqual({ code: 'STREAM_OVERFLOW', status: 503, retryable: true, cursor })
  expect(heard.map(({ message }) => Number.parseInt(message, 10))).toEqual(heard.map((_, i) => i))

  const again = await subscribe(cursor)
  let begun = ''
  for await (const chunk of again.setEncoding('utf8').iterator({ destroyOnReturn: true })) {
    begun += chunk
    const next = /"message":"(\d+) /.exec(begun)?.[1]
    if (next === undefined) continue
    expect(Number(next)).toBe(heard.length)
    break
  }
})
