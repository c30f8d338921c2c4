/** An HTTP server with scripted responses that records its requests. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { asyncListener } from '../support/async-listener.ts'

interface Asked {
  path: string
  headers: http.IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON of any shape
  body: any
  bytes: number
}

type Answering = (
  asked: Asked,
  response: http.ServerResponse,
) => { status?: number; headers?: http.OutgoingHttpHeaders; body?: unknown } | 'silence'

export interface ScriptedServer {
  url: string
  asked: Asked[]
  answer: Answering
  /** total number of connections */
  connections: number
  close(): Promise<void>
}

/** `body`: a string is sent unchanged. Default: 200 without a body. */
export async function scriptedServer(): Promise<ScriptedServer> {
  const server = http.createServer(
    asyncListener(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const text = Buffer.concat(chunks).toString()
      const asked: Asked = {
        path: request.url!,
        headers: request.headers,
        body: text === '' ? undefined : JSON.parse(text),
        bytes: Buffer.byteLength(text),
      }
      scripted.asked.push(asked)
      const answer = scripted.answer(asked, response)
      if (answer === 'silence') return
      const { status = 200, headers = {}, body } = answer
      response.writeHead(status, headers)
      response.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body))
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.on('connection', () => scripted.connections++)
  const scripted: ScriptedServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    answer: () => ({}),
    connections: 0,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  return scripted
}
