/**
 * An MCP server that requires a token, on a free loopback port. It names its authorization server. A test can set the
 * answer of any path, so it can also play an authorization server.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface McpServer {
  /** Address of its endpoint: `${origin}/mcp`. */
  url: string
  origin: string
  /** Every request in order; `path` with its query. */
  requests: { method: string; path: string; body: string; authorization: string | undefined }[]
  /**
   * Sets the answer of this path for every method; a function gets the request's body. `hang`: no answer until it is
   * closed.
   */
  answer(path: string, reply: Answer): void
  close(): Promise<void>
}

interface Reply {
  status?: number
  headers?: Record<string, string>
  /** An object is sent as JSON, text as HTML. */
  body?: object | string
  hang?: boolean
}

type Answer = Reply | ((body: string) => Reply | Promise<Reply>)

export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'
export const SERVER_METADATA = '/.well-known/oauth-authorization-server'

export interface McpOptions {
  /** Its published authorization servers; absent: it publishes no metadata. */
  authorizationServers?: string[]
  /** Whether the challenge names the address of its metadata. */
  named?: boolean
}

export async function startMcpServer({ authorizationServers, named = false }: McpOptions = {}): Promise<McpServer> {
  const requests: McpServer['requests'] = []
  const replies = new Map<string, Answer>()
  const server = createServer((req, res) => {
    handle(req, res).catch((error) => res.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = `${origin}/mcp`
  // not at the default path, so a client that finds it has read the challenge
  const metadataPath = named ? '/about-me' : `${RESOURCE_METADATA}/mcp`

  replies.set('/mcp', {
    status: 401,
    headers: {
      'www-authenticate': named ? `Bearer realm="mcp", resource_metadata="${origin}${metadataPath}"` : 'Bearer',
    },
    body: { error: 'invalid_token' },
  })
  if (authorizationServers)
    replies.set(metadataPath, { body: { resource: url, authorization_servers: authorizationServers } })

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method = '', url: path = '/', headers } = req
    const body = await text(req)
    requests.push({ method, path, body, authorization: headers.authorization })
    const said = replies.get(path) ?? { status: 404, body: { error: 'not_found' } }
    const reply: Reply = typeof said === 'function' ? await said(body) : said
    if (reply.hang) return
    const json = typeof reply.body === 'object'
    res.writeHead(reply.status ?? 200, { 'content-type': json ? 'application/json' : 'text/html', ...reply.headers })
    res.end(json ? JSON.stringify(reply.body) : reply.body)
  }

  return {
    url,
    origin,
    requests,
    answer(path, reply) {
      replies.set(path, reply)
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
