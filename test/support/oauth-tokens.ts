/** Tokens of people inserted directly, without the consent flow, and providers that are never called. */
import { randomUUID } from 'node:crypto'
import { sealToken, type TokenContent } from '../../src/domain/oauth/tokens/token.ts'
import type { OAuthProvider, OAuthToken, Prisma } from '../../src/generated/prisma/client.ts'
import type { TestApp } from './app.ts'

/** Creates a provider in workspace A's organization. `row`: members to override. */
export function storedProvider(
  { app, tenant }: TestApp,
  row: Partial<Prisma.OAuthProviderUncheckedCreateInput> = {},
): Promise<OAuthProvider> {
  const providerId = `acme-${randomUUID().slice(0, 8)}`
  return app.core.db.oAuthProvider.create({
    data: {
      organizationId: tenant.organizationId,
      providerId,
      name: `Acme ${providerId}`,
      clientId: 'client',
      authUrl: 'https://provider.example/authorize',
      tokenUrl: 'https://provider.example/token',
      tokenEndpointAuthMethod: 'none',
      ...row,
    },
  })
}

export interface StoredToken {
  provider: { id: string }
  /** The owner; default: the deployer of workspace A. */
  key?: string
  /** X-Tenant-Id for an organization-wide key. */
  tenant?: string
  content?: Partial<TokenContent>
  /** Members to override. */
  row?: Partial<Prisma.OAuthTokenUncheckedCreateInput>
}

export async function storedToken(app: TestApp, how: StoredToken): Promise<OAuthToken> {
  const { core } = app.app
  const { actor, workspace } = await app.context(how.key ?? app.keys.deployer, how.tenant)
  const { tokenUrl } = await core.db.oAuthProvider.findUniqueOrThrow({ where: { id: how.provider.id } })
  const id = randomUUID()
  const content = { accessToken: 'access', tokenType: 'bearer', refreshToken: 'refresh', ...how.content }
  return core.db.oAuthToken.create({
    data: {
      id,
      workspaceId: workspace.id,
      subject: actor.subject,
      oauthProviderId: how.provider.id,
      scopes: ['read'],
      sealed: sealToken(core.keyring, id, content),
      refreshable: content.refreshToken !== null,
      tokenUrl,
      expiresAt: new Date(Date.now() + 3_600_000),
      ...how.row,
    },
  })
}

/** Connects an agent to a token, as the token's owner would. */
export async function storedConnection(app: TestApp, token: OAuthToken, agentId = `agent-${randomUUID()}`) {
  const { workspaceId, id: tokenId, subject: createdBy } = token
  return app.app.core.db.agentConnection.create({ data: { workspaceId, agentId, tokenId, createdBy } })
}

/** The completed authorization of a token. */
export async function storedAuthorization(app: TestApp, token: OAuthToken) {
  const { workspaceId, oauthProviderId, subject, scopes, id: tokenId } = token
  const at = { expiresAt: new Date(Date.now() + 900_000), finishedAt: new Date() }
  const redirectUri = 'https://pilothouse.example/callback'
  return app.app.core.db.oAuthAuthorization.create({
    data: {
      workspaceId,
      oauthProviderId,
      subject,
      createdBy: subject,
      scopes,
      stateHash: randomUUID(),
      redirectUri,
      status: 'completed',
      tokenId,
      ...at,
    },
  })
}
