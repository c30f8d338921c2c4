/** A provider with only metadata and a revocation endpoint; it records its requests. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface RevocationServer {
  url: string
  tokenUrl: string
  revocationUrl: string
  /** The revoked tokens in order. */
  seen: { token: string; hint: string | null }[]
  /** Sets the answer, or `hang`: no answer before `release`. Default: 200. */
  answer: number | 'hang'
  /** Resolves when this token was revoked. */
  reached(token: string): Promise<void>
  /** Answers the hanging requests. */
  release(): void
  close(): Promise<void>
}

/** `publishes`: whether its metadata names the endpoint. */
export async function startRevocationServer({ publishes = true } = {}): Promise<RevocationServer> {
  const server = createServer((req, res) => void handle(req, res))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const waiting: { token: string; arrived: () => void }[] = []
  let hanging: (() => void)[] = []

  const it: RevocationServer = {
    url,
    tokenUrl: `${url}/token`,
    revocationUrl: `${url}/revoke`,
    seen: [],
    answer: 200,
    reached(token) {
      if (it.seen.some((one) => one.token === token)) return Promise.resolve()
      return new Promise((arrived) => void waiting.push({ token, arrived }))
    },
    release() {
      for (const go of hanging) go()
      hanging = []
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return it

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method === 'GET') return metadata(req, res)
    const form = new URLSearchParams(await text(req))
    const token = form.get('token') ?? ''
    it.seen.push({ token, hint: form.get('token_type_hint') })
    for (const one of waiting) if (one.token === token) one.arrived()
    if (it.answer === 'hang') await new Promise<void>((go) => hanging.push(go))
    res.writeHead(typeof it.answer === 'number' ? it.answer : 200).end()
  }

  function metadata(req: IncomingMessage, res: ServerResponse): void {
    if (req.url !== '/.well-known/oauth-authorization-server') return void res.writeHead(404).end()
    const place = publishes ? { revocation_endpoint: `${url}/revoke` } : {}
    const body = { issuer: url, token_endpoint: `${url}/token`, response_types_supported: ['code'], ...place }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
}
