/** An OAuth provider as REST shows it (spec 2.8, contract 8). */
import type { z } from 'zod'
import type { ReadableProvider } from '../../domain/providers/read.ts'
import type { AuthMethod, CODE_CHALLENGE_METHODS, ProviderType } from '../../domain/providers/schemas.ts'
import type { oauthProvider } from '../oauth-schemas.ts'

export function presentOAuthProvider(row: ReadableProvider): z.output<typeof oauthProvider> {
  return {
    id: row.id,
    organization_id: row.organizationId,
    provider_id: row.providerId,
    name: row.name,
    client_id: row.clientId,
    auth_url: row.authUrl,
    token_url: row.tokenUrl,
    uses_pkce: row.usesPkce,
    code_challenge_method: row.codeChallengeMethod as (typeof CODE_CHALLENGE_METHODS)[number] | null,
    provider_type: row.providerType as ProviderType | null,
    mcp_server_url: row.mcpServerUrl,
    token_endpoint_auth_method: row.tokenEndpointAuthMethod as AuthMethod,
    is_dynamic_client: row.isDynamicClient,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  }
}
