/** The provider behind `oauth-server.ts`: its configuration, its storage, and its sign-in page. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
// @ts-expect-error the package has no types, and these few lines need none
import Provider from 'oidc-provider'

export interface Options {
  /** Whether refresh tokens work once (true). */
  rotate?: boolean
  accessTokenSeconds?: number
  codeSeconds?: number
  /** Whether clients may register themselves (RFC 7591). */
  registration?: boolean
  /** Additional claims by account id. */
  claims?: Record<string, Record<string, unknown>>
  /** Claims in the ID token; default: all. Others are only at the userinfo endpoint. */
  inIdToken?: readonly string[]
}

/** The client that asks whether a token is known. */
export const INSPECTOR = { id: 'inspector', secret: 'inspector-secret' }

/** The used part of its interface. */
export interface OidcProvider {
  callback(): (req: IncomingMessage, res: ServerResponse) => void
  interactionDetails(
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<{ params: { client_id: string; scope?: string; resource?: string | string[] } }>
  interactionFinished(req: IncomingMessage, res: ServerResponse, result: unknown): Promise<void>
  Grant: new (of: {
    accountId: string | null
    clientId: string
  }) => {
    addOIDCScope(scope: string): void
    addResourceScope(resource: string, scope: string): void
    save(): Promise<string>
  }
}

/** `pkceRequired`: ids of the clients that need PKCE. */
export async function openProvider(
  url: string,
  options: Options,
  store: Map<string, Stored>,
  pkceRequired: ReadonlySet<string>,
): Promise<OidcProvider> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const accessTokenSeconds = options.accessTokenSeconds ?? 3600
  const allowed = () => true
  const claimed = [...new Set(Object.values(options.claims ?? {}).flatMap((of) => Object.keys(of)))]
  return new Provider(url, {
    adapter: adapterOn(store),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig', kid: 'key' }] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    clients: [
      {
        client_id: INSPECTOR.id,
        client_secret: INSPECTOR.secret,
        grant_types: [],
        redirect_uris: [],
        response_types: [],
      },
    ],
    cookies: { keys: [randomBytes(16).toString('hex')] },
    scopes: ['openid', 'offline_access', 'email', 'profile', 'read', 'write'],
    conformIdTokenClaims: options.claims === undefined,
    claims: { openid: ['sub', ...claimed], email: ['email', 'email_verified'], profile: ['name'] },
    findAccount: (_ctx: unknown, accountId: string) => ({
      accountId,
      claims: (use: string) => {
        const more = Object.entries(options.claims?.[accountId] ?? {})
        const told = more.filter(([name]) => use !== 'id_token' || (options.inIdToken?.includes(name) ?? true))
        const usual = { sub: accountId, email: `${accountId}@example.com`, email_verified: true, name: accountId }
        return { ...usual, ...Object.fromEntries(told) }
      },
    }),
    clientBasedCORS: () => false,
    interactions: { url: (_ctx: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
    pkce: { required: (_ctx: unknown, client: { clientId: string }) => pkceRequired.has(client.clientId) },
    issueRefreshToken: (_ctx: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
      client.grantTypeAllowed('refresh_token'),
    expiresWithSession: () => false,
    rotateRefreshToken: options.rotate ?? true,
    ttl: {
      AccessToken: accessTokenSeconds,
      AuthorizationCode: options.codeSeconds ?? 60,
      IdToken: 3600,
      RefreshToken: 86_400,
      Interaction: 600,
      Session: 3600,
      Grant: 86_400,
    },
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true, allowedPolicy: allowed },
      revocation: { enabled: true, allowedPolicy: allowed },
      registration: { enabled: options.registration ?? false },
      rpInitiatedLogout: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_ctx: unknown, _client: unknown, oneOf?: string[]) => oneOf?.[0],
        getResourceServerInfo: (_ctx: unknown, audience: string) => ({
          audience,
          scope: 'read write',
          accessTokenFormat: 'opaque',
          accessTokenTTL: accessTokenSeconds,
        }),
      },
    },
    renderError: (ctx: { type: string; body: string }, out: Record<string, string>) => {
      ctx.type = 'json'
      ctx.body = JSON.stringify(out)
    },
  })
}

/**
 * The page where a person signs in and consents, in one request; its query names the account (alice) and whether to
 * decline.
 */
export async function interact(provider: OidcProvider, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const query = new URL(req.url ?? '/', 'http://localhost').searchParams
  const { params } = await provider.interactionDetails(req, res)
  if (query.has('decline')) {
    await provider.interactionFinished(req, res, { error: 'access_denied', error_description: 'declined' })
    return
  }
  const accountId = query.get('account') ?? 'alice'
  const grant = new provider.Grant({ accountId, clientId: params.client_id })
  if (params.scope) grant.addOIDCScope(params.scope)
  for (const resource of [params.resource ?? []].flat()) grant.addResourceScope(resource, params.scope ?? '')
  await provider.interactionFinished(req, res, { login: { accountId }, consent: { grantId: await grant.save() } })
}

/** A row: the provider's record of `${model}:${id}`. */
export interface Stored {
  payload: Record<string, unknown>
}

/** The provider's storage, in memory. */
function adapterOn(store: Map<string, Stored>) {
  return (model: string) => {
    const find = async (id: string) => store.get(`${model}:${id}`)?.payload
    const findBy = async (member: string, value: string) =>
      [...store].find(([key, { payload }]) => key.startsWith(`${model}:`) && payload[member] === value)?.[1].payload
    return {
      find,
      findByUid: (uid: string) => findBy('uid', uid),
      findByUserCode: (code: string) => findBy('userCode', code),
      async upsert(id: string, payload: Record<string, unknown>) {
        store.set(`${model}:${id}`, { payload })
      },
      async consume(id: string) {
        const stored = store.get(`${model}:${id}`)
        if (stored) stored.payload.consumed = Math.floor(Date.now() / 1000)
      },
      async destroy(id: string) {
        store.delete(`${model}:${id}`)
      },
      async revokeByGrantId(grantId: string) {
        for (const [key, { payload }] of store) if (payload.grantId === grantId) store.delete(key)
      },
    }
  }
}
