/** Web servers on free loopback ports: one with a handler, and one whose answers a test sets. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface HttpServer {
  /** `http://127.0.0.1:port` */
  origin: string
  server: Server
  /** Cuts its connections. */
  close(): Promise<void>
}

/** An error of the handler is a 500. */
export async function startHttp(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<HttpServer> {
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      await handle(request, response)
    } catch (error) {
      response.writeHead(500).end(String(error))
    }
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export interface Reply {
  status?: number
  headers?: Record<string, string>
  /** An object is sent as JSON, text as HTML. */
  body?: object | string
  hang?: boolean
}

type Answer = Reply | ((body: string) => Reply | Promise<Reply>)

export interface WebServer extends HttpServer {
  /** Every request in order; `path` with its query. */
  requests: { method: string; path: string; body: string; authorization: string | undefined }[]
  /**
   * Sets the answer of this path for every method; a function gets the request's body. `hang`: no answer until it is
   * closed. The other paths are 404.
   */
  answer(path: string, reply: Answer): void
}

export async function startWebServer(): Promise<WebServer> {
  const requests: WebServer['requests'] = []
  const replies = new Map<string, Answer>()
  const http = await startHttp(async (request, response) => {
    const { method = '', url: path = '/', headers } = request
    const body = await text(request)
    requests.push({ method, path, body, authorization: headers.authorization })
    const said = replies.get(path) ?? { status: 404, body: { error: 'not_found' } }
    const reply: Reply = typeof said === 'function' ? await said(body) : said
    if (reply.hang) return
    const json = typeof reply.body === 'object'
    response.writeHead(reply.status ?? 200, {
      'content-type': json ? 'application/json' : 'text/html',
      ...reply.headers,
    })
    response.end(json ? JSON.stringify(reply.body) : reply.body)
  })
  return { ...http, requests, answer: (path, reply) => void replies.set(path, reply) }
}
