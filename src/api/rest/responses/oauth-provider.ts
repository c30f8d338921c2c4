/** OAuth providers in REST (docs/oauth.md#rules). */
import { z } from 'zod'
import type { ReadableProvider } from '../../../domain/oauth/provider-access.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import {
  AUTH_METHODS,
  type AuthMethod,
  CODE_CHALLENGE_METHODS,
  PROVIDER_TYPES,
  type ProviderType,
} from '../../../domain/values/oauth-provider.ts'
import { responseSchema, time } from './response-schema.ts'

export const oauthProvider = responseSchema(
  { id: 'OAuthProvider', description: 'Answers never contain the client secret.' },
  {
    id: uuid,
    organization_id: uuid,
    provider_id: z
      .string()
      .describe('The identifier that you chose, unique in the organization. All other calls use it.'),
    name: z.string(),
    client_id: z.string(),
    auth_url: z.string(),
    token_url: z.string(),
    uses_pkce: z.boolean(),
    code_challenge_method: z.enum(CODE_CHALLENGE_METHODS).nullable(),
    provider_type: z.enum(PROVIDER_TYPES).nullable(),
    mcp_server_url: z.string().nullable(),
    token_endpoint_auth_method: z.enum(AUTH_METHODS),
    is_dynamic_client: z.boolean().describe('Whether this server registered the client.'),
    created_at: time,
    updated_at: time,
  },
  (row: ReadableProvider) => ({
    codeChallengeMethod: row.codeChallengeMethod as (typeof CODE_CHALLENGE_METHODS)[number] | null,
    providerType: row.providerType as ProviderType | null,
    tokenEndpointAuthMethod: row.tokenEndpointAuthMethod as AuthMethod,
  }),
)
