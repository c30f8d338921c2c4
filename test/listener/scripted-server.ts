/** An HTTP server with scripted responses that records its requests. */
import type http from 'node:http'
import { text } from 'node:stream/consumers'
import { startHttp } from '../support/web-server.ts'

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
  const { origin, server, close } = await startHttp(async (request, response) => {
    const sent = await text(request)
    const asked: Asked = {
      path: request.url!,
      headers: request.headers,
      body: sent === '' ? undefined : JSON.parse(sent),
      bytes: Buffer.byteLength(sent),
    }
    scripted.asked.push(asked)
    const answer = scripted.answer(asked, response)
    if (answer === 'silence') return
    const { status = 200, headers = {}, body } = answer
    response.writeHead(status, headers)
    response.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body))
  })
  server.on('connection', () => scripted.connections++)
  const scripted: ScriptedServer = { url: origin, asked: [], answer: () => ({}), connections: 0, close }
  return scripted
}
