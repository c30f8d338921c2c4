/**
 * A real OAuth provider on a free port, with people who sign in and consent. Clients can be added while it runs; its
 * token endpoint can be disturbed.
 */
import { randomBytes } from 'node:crypto'
import { type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { INSPECTOR, interact, type Options, openProvider, type Stored } from './oauth-provider.ts'
import { startHttp } from './web-server.ts'

export interface OAuthServer {
  /** Its issuer. */
  url: string
  authUrl: string
  tokenUrl: string
  revocationUrl: string
  userinfoUrl: string
  /** Registers a client. Without `requirePkce` PKCE is optional; a client with the method `none` has no secret. */
  client(how: {
    method: ClientAuth
    redirectUri: string
    requirePkce?: boolean
    /** Generated unless given. */
    secret?: string
    id?: string
  }): Promise<{ clientId: string; clientSecret: string | null }>
  /**
   * A person in a browser: opens the authorization URL, signs in as `account` (`alice`), consents or declines. Returns
   * the callback URL without opening it.
   */
  visit(authorizationUrl: string, how?: { account?: string; decline?: boolean }): Promise<string>
  /** The paths of all requests in order. */
  paths: string[]
  /** Every request to the token endpoint in order. `status`: of its answer; 0 while it is open. */
  tokenRequests: TokenRequest[]
  /**
   * Disturbs the next `times` (1) token requests. `hang`: waits for `release()`, then lets the provider answer.
   * `reset`: lets the provider answer and cuts the connection. `reached`: resolves when the first of these requests
   * has arrived.
   */
  next(what: Disturbance, times?: number): { release(): void; reached: Promise<void> }
  /** Whether the provider still knows this token (introspection). */
  isActive(token: string): Promise<boolean>
  /** Expires all codes issued so far. */
  expireCodes(): void
  close(): Promise<void>
}

export type ClientAuth = 'none' | 'client_secret_basic' | 'client_secret_post'
export type Disturbance =
  | 'hang'
  | 'reset'
  | '500'
  | 'html'
  | 'redirect'
  | { status: number; body: string; type?: string }

interface TokenRequest {
  grantType: string
  refreshToken?: string
  code?: string
  /** The resource that a token was requested for (RFC 8707). */
  resource?: string
  auth: 'none' | 'basic' | 'post'
  status: number
}

/** Scopes: openid email profile offline_access read write. E-mail addresses: `${account}@example.com`. */
export async function startOAuthServer(options: Options = {}): Promise<OAuthServer> {
  // the front disturbs the token endpoint; clients only know its address
  const front = await startHttp(serve)
  const back = await startHttp((req, res) => handle(req, res))
  const url = front.origin
  const store = new Map<string, Stored>()
  const pkceRequired = new Set<string>()
  const provider = await openProvider(url, options, store, pkceRequired)
  const handle: (req: IncomingMessage, res: ServerResponse) => unknown = provider.callback()

  const paths: string[] = []
  const tokenRequests: TokenRequest[] = []
  const disturbances: { what: Disturbance; arrived(): void; released: Promise<void> }[] = []

  async function token(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await buffer(req)
    const seen = tokenRequest(req, new URLSearchParams(body.toString()))
    tokenRequests.push(seen)
    const disturbance = disturbances.shift()
    disturbance?.arrived()
    const what = disturbance?.what
    if (what === 'hang') {
      await disturbance?.released
      if (res.destroyed) return
    } else if (what && what !== 'reset') {
      const answer = strange(what)
      seen.status = answer.status
      res.writeHead(answer.status, answer.headers).end(answer.body)
      return
    }
    const answer = await pass(back.server, req, body)
    seen.status = answer.status
    if (what === 'reset') req.socket.resetAndDestroy()
    else res.writeHead(answer.status, answer.headers).end(answer.body)
  }

  function serve(req: IncomingMessage, res: ServerResponse) {
    const path = new URL(req.url ?? '/', url).pathname
    paths.push(path)
    if (path === '/token') return token(req, res)
    return path.startsWith('/interaction/') ? interact(provider, req, res) : handle(req, res)
  }

  return {
    url,
    authUrl: `${url}/auth`,
    tokenUrl: `${url}/token`,
    revocationUrl: `${url}/token/revocation`,
    userinfoUrl: `${url}/me`,
    paths,
    tokenRequests,
    async client({ method, redirectUri, requirePkce = false, secret = randomBytes(24).toString('base64url'), id }) {
      const clientId = id ?? `client-${randomBytes(6).toString('hex')}`
      const clientSecret = method === 'none' ? null : secret
      store.set(`Client:${clientId}`, {
        payload: {
          client_id: clientId,
          ...(clientSecret !== null && { client_secret: clientSecret }),
          token_endpoint_auth_method: method,
          id_token_signed_response_alg: 'ES256',
          redirect_uris: [redirectUri],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      })
      if (requirePkce) pkceRequired.add(clientId)
      return { clientId, clientSecret }
    },
    visit: (authorizationUrl, how = {}) => visit(authorizationUrl, how),
    next(what, times = 1) {
      let release = () => {}
      let arrived = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      const reached = new Promise<void>((resolve) => {
        arrived = resolve
      })
      for (let i = 0; i < times; i++) disturbances.push({ what, arrived, released })
      return { release, reached }
    },
    async isActive(value) {
      const response = await fetch(`${url}/token/introspection`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${INSPECTOR.id}:${INSPECTOR.secret}`)}` },
        body: new URLSearchParams({ token: value }),
      })
      return ((await response.json()) as { active: boolean }).active
    },
    expireCodes() {
      for (const [key, { payload }] of store) if (key.startsWith('AuthorizationCode:')) payload.exp = 1
    },
    async close() {
      await Promise.all([front.close(), back.close()])
    },
  }
}

async function visit(authorizationUrl: string, how: { account?: string; decline?: boolean }): Promise<string> {
  const redirectUri = new URL(authorizationUrl).searchParams.get('redirect_uri')
  const cookies = new Map<string, string>()
  let next = authorizationUrl
  for (let steps = 0; steps < 10; steps++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
    const text = await response.text()
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s)
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (!location) throw new Error(`the provider answered ${response.status}: ${text}`)
    const target = new URL(location, next)
    if (redirectUri && target.href.startsWith(redirectUri)) return target.href
    if (target.pathname.startsWith('/interaction/')) {
      target.searchParams.set('account', how.account ?? 'alice')
      if (how.decline) target.searchParams.set('decline', 'true')
    }
    next = target.href
  }
  throw new Error('the provider redirects for ever')
}

function tokenRequest(req: IncomingMessage, form: URLSearchParams): TokenRequest {
  const [refreshToken, code, resource] = ['refresh_token', 'code', 'resource'].map((name) => form.get(name))
  return {
    grantType: form.get('grant_type') ?? '',
    ...(refreshToken && { refreshToken }),
    ...(code && { code }),
    ...(resource && { resource }),
    auth: req.headers.authorization ? 'basic' : form.has('client_secret') ? 'post' : 'none',
    status: 0,
  }
}

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  body: string | Buffer
}

function strange(what: Exclude<Disturbance, 'hang' | 'reset'>): Answer {
  if (what === '500') return { status: 500, headers: { 'content-type': 'text/plain' }, body: 'Internal Server Error' }
  if (what === 'html')
    return { status: 200, headers: { 'content-type': 'text/html' }, body: '<!doctype html><h1>Please sign in</h1>' }
  if (what === 'redirect') return { status: 307, headers: { location: '/elsewhere' }, body: '' }
  return { status: what.status, headers: { 'content-type': what.type ?? 'application/json' }, body: what.body }
}

/** Lets the provider answer under the front's address. */
function pass(back: Server, req: IncomingMessage, body: Buffer): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { port } = back.address() as AddressInfo
    const { method = 'POST', url = '/', headers } = req
    const passed = request({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (response) => {
      const { statusCode = 0, headers: received } = response
      const { 'transfer-encoding': _, connection: __, ...kept } = received
      buffer(response).then((answer) => resolve({ status: statusCode, headers: kept, body: answer }), reject)
    })
    passed.on('error', reject)
    passed.end(body)
  })
}
