/** An agent with its key, connected to a real token of the test OAuth server without the flow through the API. */
import { randomUUID } from 'node:crypto'
import { connectAgent } from '../../src/domain/oauth/tokens/connections.ts'
import { openProviderAccess, redirectUriOf } from '../../src/domain/oauth/tokens/provider-access.ts'
import { openToken, type TokenContent } from '../../src/domain/oauth/tokens/token.ts'
import { transaction } from '../../src/domain/transaction/context.ts'
import type { Prisma } from '../../src/generated/prisma/client.ts'
import { type Answer, newKey, type TestApp, type TestTenant } from '../support/app.ts'
import type { OAuthServer } from '../support/oauth-server.ts'
import { storedToken } from '../support/oauth-tokens.ts'
import { LOCAL, oauthProvider, type TestProvider } from './support.ts'

/** A server whose jobs refresh nothing. */
export const SETTINGS = { ...LOCAL, SWEEP_SECONDS: '3600' }

export interface Agent {
  agentId: string
  key: string
}

export interface ConnectedAgent extends Agent {
  provider: TestProvider
  tokenId: string
  connectionId: string
  /** as granted */
  content: TokenContent
}

export interface GrantOptions {
  provider?: TestProvider
  agent?: Agent
  /** default: workspace A */
  tenant?: TestTenant
  /** the token's owner; default: alice */
  subject?: string
  scopes?: string[]
  /** members of the token's row */
  row?: Partial<Prisma.OAuthTokenUncheckedCreateInput>
}

export async function newAgent({ app, tenant }: TestApp, of: TestTenant = tenant): Promise<Agent> {
  const agentId = `agent-${randomUUID().slice(0, 8)}`
  const { organizationId, workspaceId } = of
  return { agentId, key: await newKey(app.core, { organizationId, workspaceId, role: 'agent', agentId }) }
}

/** Grants a token and creates an agent that is connected to it. */
export async function connectedAgent(
  app: TestApp,
  server: OAuthServer,
  how: GrantOptions = {},
): Promise<ConnectedAgent> {
  const { core } = app.app
  const { tenant = app.tenant, subject = 'alice', scopes = ['openid', 'read'] } = how
  const { organizationId, workspaceId } = tenant
  const provider = how.provider ?? (await oauthProvider(app, server, { organizationId }))
  const agent = how.agent ?? (await newAgent(app, tenant))
  const client = await core.db.oAuthProvider.findUniqueOrThrow({ where: { id: provider.id } })
  const access = openProviderAccess(core.keyring, client)
  const redirectUri = redirectUriOf(core, { ...provider, isDynamicClient: false })
  const [state, codeVerifier] = [randomUUID(), await core.oauth.codeVerifier()]
  const url = await core.oauth.authorizationUrl(access, { redirectUri, state, codeVerifier, scopes })
  const callback = new URL(await server.visit(url, { account: subject })).searchParams
  const set = await core.oauth.exchange(access, { callback, state, redirectUri, codeVerifier })
  const { accessToken, tokenType, refreshToken } = set
  const content = { accessToken, tokenType, refreshToken }
  const expiresAt = new Date(Date.now() + set.expiresIn! * 1000)
  const row = { workspaceId, subject, scopes, expiresAt, ...how.row }
  const { id } = await storedToken(app, { provider, content, row })
  const { id: connectionId } = await transaction(core, (tx) =>
    connectAgent(tx, { workspaceId, agentId: agent.agentId, tokenId: id, subject }),
  )
  return { ...agent, provider, tokenId: id, connectionId, content }
}

/** Like `connectedAgent`, with an expired access token. */
export async function expiredAgent(app: TestApp, server: OAuthServer, how: GrantOptions = {}): Promise<ConnectedAgent> {
  return connectedAgent(app, server, { ...how, row: { expiresAt: new Date(Date.now() - 10_000), ...how.row } })
}

export const tokenRow = ({ app }: TestApp, { tokenId }: Pick<ConnectedAgent, 'tokenId'>) =>
  app.core.db.oAuthToken.findUniqueOrThrow({ where: { id: tokenId } })

/** The decrypted content of the token's row. */
export async function storedContent(app: TestApp, of: Pick<ConnectedAgent, 'tokenId'>): Promise<TokenContent> {
  return openToken(app.app.core.keyring, await tokenRow(app, of))
}

/** Ends the backoff and expires the access token. */
export async function makeDueForRefresh({ app }: TestApp, { tokenId }: Pick<ConnectedAgent, 'tokenId'>): Promise<void> {
  await app.core.db.$executeRaw`
    UPDATE oauth_tokens SET refresh_after = now() - interval '1 second', expires_at = now() - interval '1 second'
    WHERE id = ${tokenId}::uuid`
}

export function requestAccessToken(
  app: TestApp,
  { key, agentId, provider }: Pick<ConnectedAgent, 'key' | 'agentId' | 'provider'>,
  body: object = {},
): Promise<Answer> {
  return app.rest('POST', `/v2/auth/agents/${agentId}/providers/${provider.providerId}/access-token`, {
    key,
    body: { scopes: ['read'], ...body },
  })
}

/** The refresh tokens that the server received, in order. The first is the granted one. */
export function sentRefreshTokens(server: OAuthServer): (string | undefined)[] {
  return server.tokenRequests.filter(({ grantType }) => grantType === 'refresh_token').map((one) => one.refreshToken)
}

/** The different answers, as `200 ok` or `409 TOKEN_EXPIRED`. */
export const kinds = (answers: Answer[]) => [
  ...new Set(answers.map(({ status, body }) => `${status} ${body.code ?? 'ok'}`)),
]
