/** A stand-in for a token endpoint that answers as a provider's documentation shows. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { asyncListener } from './async-listener.ts'

export interface TokenEndpoint {
  url: string
  requests: { authorization: string | undefined; form: Record<string, string> }[]
  /** Its answer from now on; a text is sent unchanged. */
  answer(next: Reply): void
  close(): Promise<void>
}

export interface Reply {
  body: unknown
  status?: number
  headers?: Record<string, string>
}

export async function startTokenEndpoint(first: Reply): Promise<TokenEndpoint> {
  let reply = first
  const requests: TokenEndpoint['requests'] = []
  const server = createServer(
    asyncListener(async (req, res) => {
      const form = Object.fromEntries(new URLSearchParams(await text(req)))
      requests.push({ authorization: req.headers.authorization, form })
      const { body, status = 200, headers = { 'content-type': 'application/json' } } = reply
      res.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
    }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    requests,
    answer(next) {
      reply = next
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
