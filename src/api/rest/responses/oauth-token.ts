/** OAuth in REST: providers, authorizations, tokens, connections and access tokens (docs/oauth.md#rules). */
import { z } from 'zod'
import { AUTHORIZATION_STATUSES, type AuthorizationView } from '../../../domain/oauth/authorizations/authorization.ts'
import type { ConnectionView } from '../../../domain/oauth/tokens/connections.ts'
import type { IssuedToken } from '../../../domain/oauth/tokens/issue.ts'
import type { ReadableProvider } from '../../../domain/oauth/tokens/provider-access.ts'
import {
  displayLabel,
  type ListedToken,
  TOKEN_STATUSES,
  tokenStatus,
  tokenStatusMessage,
} from '../../../domain/oauth/tokens/token.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import {
  AUTH_METHODS,
  type AuthMethod,
  CODE_CHALLENGE_METHODS,
  PROVIDER_TYPES,
  type ProviderType,
} from '../../../domain/values/oauth-provider.ts'
import { responseSchema, time } from './response-schema.ts'

export const authorization = responseSchema(
  { id: 'Authorization' },
  {
    status: z
      .enum(AUTHORIZATION_STATUSES)
      .describe(
        'completed: the token exists, and the named agent, if any, may use it. pending: the person has to open `url`. connection_required: a token exists, but the agent is not connected to it. token_expired: the token has expired and can’t be refreshed.',
      ),
    url: z
      .string()
      .nullable()
      .describe(
        'The page that the person opens, once, within 15 minutes. It is null when the status is `completed`, and in answers to a wait: it is not stored, so only `authenticate` returns it.',
      ),
    auth_id: uuid.nullable().describe('The id for GET /v2/auth/wait/{auth_id}; null if there is nothing to wait for.'),
    oauth_token_id: uuid.nullable().describe('The id of the token, if it exists.'),
  },
  (view: AuthorizationView) => ({ oauthTokenId: view.tokenId }),
)

export const oauthToken = responseSchema(
  { id: 'OAuthToken', description: 'Only the answer to an agent contains the token itself.' },
  {
    id: uuid,
    provider_id: z.string(),
    provider_account_label: z
      .string()
      .nullable()
      .describe('The label that you gave the token, or else the provider’s name for the account.'),
    scopes: z.array(z.string()),
    is_default: z.boolean().describe('Whether this token is used if you have several tokens of the provider.'),
    status: z.enum(TOKEN_STATUSES).describe('EXPIRED: the user has to authenticate again.'),
    status_message: z
      .string()
      .nullable()
      .describe('Why the token can’t be refreshed any more, or why the last refresh failed.'),
    expires_at: time
      .nullable()
      .describe('When the access token expires, unless it is refreshed before; null if the provider does not say.'),
    created_at: time,
    updated_at: time,
  },
  (row: ListedToken, ctx) => {
    const now = ctx.clock()
    return {
      providerId: row.provider.providerId,
      providerAccountLabel: displayLabel(row),
      status: tokenStatus(row, now),
      statusMessage: tokenStatusMessage(row, now),
    }
  },
)

export const deletedTokens = responseSchema(
  { id: 'DeletedOAuthTokens' },
  { deleted: z.int().describe('The number of deleted tokens.') },
  (deleted: number) => ({ deleted }),
)

export const connection = responseSchema(
  { id: 'Connection' },
  {
    id: uuid,
    agent_id: z.string(),
    oauth_token_id: uuid,
    provider_id: z.string(),
    provider_account_label: z.string().nullable(),
    scopes: z.array(z.string()),
    expires_at: time
      .nullable()
      .describe('When the token expires. It is refreshed automatically if the provider allows it.'),
    created_by: z.string(),
    created_at: time,
  },
  ({ token, ...row }: ConnectionView) => ({
    oauthTokenId: row.tokenId,
    providerId: token.provider.providerId,
    providerAccountLabel: displayLabel(token),
    scopes: token.scopes,
    expiresAt: token.expiresAt,
  }),
)

export const connectionList = responseSchema(
  { id: 'ConnectionList' },
  { data: z.array(connection) },
  (data: readonly ConnectionView[]) => ({ data }),
)

export const accessToken = responseSchema(
  { id: 'AccessToken' },
  {
    access_token: z.string(),
    token_type: z.string(),
    expires_at: time
      .nullable()
      .describe('When the access token expires. Get a new one then. It is null if the provider does not say.'),
    scopes: z.array(z.string()).describe('The scopes of the token. They include the requested scopes.'),
    connection_id: uuid,
    provider_account_label: z.string().nullable(),
  },
  (token: IssuedToken) => ({ providerAccountLabel: token.accountLabel }),
)

/** OAuth providers in REST (docs/oauth.md#rules). */
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
