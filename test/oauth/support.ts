/** Shared by OAuth tests: a provider at the test OAuth server, and a person who completes the flow. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { redirectUriOf, sealClientSecret } from '../../src/domain/oauth/tokens/provider-access.ts'
import type { Answer, TestApp } from '../support/app.ts'
import { type OAuthServer, startOAuthServer } from '../support/oauth-server.ts'
import { storedProvider } from '../support/oauth-tokens.ts'
import { useStarted } from '../support/started.ts'

/** A test OAuth server for all tests of the file. */
export const useOAuthServer = (options?: Parameters<typeof startOAuthServer>[0]): OAuthServer =>
  useStarted(() => startOAuthServer(options))

/** Settings of an app whose providers run on this machine. */
export const LOCAL = { OUTBOUND_ALLOW: '127.0.0.1' }

export interface ProviderOptions {
  /** default: a new one */
  providerId?: string
  name?: string
  method?: 'none' | 'client_secret_basic' | 'client_secret_post'
  /** default: true */
  pkce?: boolean
  /** default: workspace A's */
  organizationId?: string
  /** members of the row that differ */
  row?: Partial<{ tokenUrl: string; authUrl: string; issuer: string | null; clientSecret: string | null }>
}

export interface TestProvider {
  /** of its row */
  id: string
  providerId: string
  name: string
  clientId: string
  clientSecret: string | null
}

/** A provider of workspace A's organization with a registered client. Default: client_secret_post with PKCE. */
export async function oauthProvider(
  scene: TestApp,
  server: OAuthServer,
  how: ProviderOptions = {},
): Promise<TestProvider> {
  const { core } = scene.app
  const { method = 'client_secret_post', pkce = true, providerId = `acme-${randomUUID().slice(0, 8)}` } = how
  const redirectUri = redirectUriOf(core, { id: '', providerId, isDynamicClient: false })
  const { clientId, clientSecret } = await server.client({ method, redirectUri, requirePkce: pkce })
  const id = randomUUID()
  const sealed = clientSecret === null ? null : sealClientSecret(core.keyring, id, clientSecret)
  const { authUrl, tokenUrl } = server
  const { name } = await storedProvider(scene, {
    ...{
      id,
      organizationId: how.organizationId ?? scene.tenant.organizationId,
      providerId,
      clientId,
      authUrl,
      tokenUrl,
    },
    ...{
      name: how.name ?? `Acme ${providerId}`,
      clientSecret: sealed,
      usesPkce: pkce,
      tokenEndpointAuthMethod: method,
    },
    ...how.row,
  })
  return { id, providerId, name, clientId, clientSecret }
}

export interface AuthenticateOptions {
  provider: TestProvider
  /** default: the deployer of workspace A */
  key?: string
  tenant?: string
  agentId?: string
  userId?: string
  /** default: openid email read */
  scopes?: string[]
  forceNew?: boolean
}

export const SCOPES = ['openid', 'email', 'read']

/** POST /v2/auth/authenticate. */
export function authenticate(app: TestApp, asked: AuthenticateOptions): Promise<Answer> {
  const { provider, scopes = SCOPES, agentId, userId, forceNew } = asked
  return app.rest('POST', '/v2/auth/authenticate', {
    key: asked.key ?? app.keys.deployer,
    tenant: asked.tenant,
    body: { provider: provider.providerId, scopes, agent_id: agentId, user_id: userId, force_new: forceNew },
  })
}

/** Opens a URL like a browser. */
export async function openPage(url: string, init?: RequestInit): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual', ...init })
  return { status: response.status, headers: response.headers, text: await response.text(), body: undefined }
}

export interface ConnectedToken {
  authId: string
  tokenId: string
  /** null: no agent was named */
  connectionId: string | null
  provider: TestProvider
}

/**
 * The whole flow over HTTP: authenticate, sign-in as `account` (default: alice), consent, callback. Creates a provider by
 * default.
 */
export async function connectedToken(
  app: TestApp,
  server: OAuthServer,
  how: Partial<AuthenticateOptions> & { account?: string } = {},
): Promise<ConnectedToken> {
  const provider = how.provider ?? (await oauthProvider(app, server))
  const asked = await authenticate(app, { ...how, provider })
  expect(asked).toMatchObject({ status: 200, body: { url: expect.any(String), auth_id: expect.any(String) } })
  const page = await openPage(await server.visit(asked.body.url, { account: how.account }))
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('Connected')])
  const { tokenId, agentId } = await app.app.core.db.oAuthAuthorization.findUniqueOrThrow({
    where: { id: asked.body.auth_id },
  })
  const connection = agentId
    ? await app.app.core.db.agentConnection.findFirstOrThrow({ where: { agentId, tokenId: tokenId! } })
    : null
  return { authId: asked.body.auth_id, tokenId: tokenId!, connectionId: connection?.id ?? null, provider }
}
