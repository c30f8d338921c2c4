/** A provider with only metadata and a revocation endpoint; it records its requests. */
import { SERVER_METADATA } from './mcp-server.ts'
import { startWebServer } from './web-server.ts'

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
  const web = await startWebServer()
  const url = web.origin
  const waiting: { token: string; arrived: () => void }[] = []
  let hanging: (() => void)[] = []
  const revocationUrl = `${url}/revoke`
  const it: RevocationServer = {
    ...{ url, tokenUrl: `${url}/token`, revocationUrl, seen: [], answer: 200, close: web.close },
    reached(token) {
      if (it.seen.some((one) => one.token === token)) return Promise.resolve()
      return new Promise((arrived) => void waiting.push({ token, arrived }))
    },
    release() {
      for (const go of hanging) go()
      hanging = []
    },
  }
  web.answer(SERVER_METADATA, {
    body: {
      ...{ issuer: url, token_endpoint: it.tokenUrl, response_types_supported: ['code'] },
      ...(publishes && { revocation_endpoint: revocationUrl }),
    },
  })
  web.answer('/revoke', async (body) => {
    const form = new URLSearchParams(body)
    const token = form.get('token') ?? ''
    it.seen.push({ token, hint: form.get('token_type_hint') })
    for (const one of waiting) if (one.token === token) one.arrived()
    if (it.answer === 'hang') await new Promise<void>((go) => hanging.push(go))
    return { status: typeof it.answer === 'number' ? it.answer : 200 }
  })
  return it
}
