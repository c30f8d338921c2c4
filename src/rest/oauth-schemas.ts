/** What REST answers about OAuth providers, authorizations, tokens and connections (spec 2.8, 2.9, contract 8). */
import { z } from 'zod'
import { AUTHORIZATION_STATUSES } from '../domain/authorizations/schemas.ts'
import { uuid } from '../domain/fields.ts'
import { AUTH_METHODS, CODE_CHALLENGE_METHODS, PROVIDER_TYPES } from '../domain/providers/schemas.ts'
import { TOKEN_STATUSES } from '../domain/tokens/token.ts'

const time = z.iso.datetime()

export const oauthProvider = z
  .object({
    id: uuid,
    organization_id: uuid,
    provider_id: z.string().describe('Given by you; unique in the organization. What every other call names it by.'),
    name: z.string(),
    client_id: z.string(),
    auth_url: z.string(),
    token_url: z.string(),
    uses_pkce: z.boolean(),
    code_challenge_method: z.enum(CODE_CHALLENGE_METHODS).nullable(),
    provider_type: z.enum(PROVIDER_TYPES).nullable(),
    mcp_server_url: z.string().nullable(),
    token_endpoint_auth_method: z.enum(AUTH_METHODS),
    is_dynamic_client: z.boolean().describe('Its client was registered by this server.'),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'OAuthProvider', description: 'Its client secret is in no answer.' })

export const authorization = z
  .object({
    status: z
      .enum(AUTHORIZATION_STATUSES)
      .describe(
        'completed: the token is there, and the agent, if one was named, may use it. pending: the person has to open `url`. connection_required: there is a token, but the agent is not connected to it. token_expired: there was one, and it can’t be refreshed.',
      ),
    url: z
      .string()
      .nullable()
      .describe(
        'Where the person goes, once, within 15 minutes. Null when it is completed, and in answers to a wait: only authenticate tells it, since it is not stored.',
      ),
    auth_id: uuid.nullable().describe('For GET /v2/auth/wait/{auth_id}; null when there is nothing to wait for.'),
    oauth_token_id: uuid.nullable().describe('The token, if there is one.'),
  })
  .meta({ id: 'Authorization' })

export const oauthToken = z
  .object({
    id: uuid,
    provider_id: z.string(),
    provider_account_label: z
      .string()
      .nullable()
      .describe('The name you gave it, or what the provider calls the account.'),
    scopes: z.array(z.string()),
    is_default: z.boolean().describe('Taken where you have several tokens of the provider.'),
    status: z.enum(TOKEN_STATUSES).describe('EXPIRED: authenticate again.'),
    status_message: z
      .string()
      .nullable()
      .describe('Why it has expired for good, or was not refreshed when that was last tried.'),
    expires_at: time
      .nullable()
      .describe('When it is refreshed at the latest, or ends. Null: the provider does not say.'),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'OAuthToken', description: 'The token itself is in no answer but the one that an agent gets.' })

export const deletedTokens = z
  .object({ deleted: z.int().describe('How many there were.') })
  .meta({ id: 'DeletedOAuthTokens' })

export const connection = z
  .object({
    id: uuid,
    agent_id: z.string(),
    oauth_token_id: uuid,
    provider_id: z.string(),
    provider_account_label: z.string().nullable(),
    scopes: z.array(z.string()),
    expires_at: time.nullable().describe('Of the token, which is refreshed by itself where the provider allows it.'),
    created_by: z.string(),
    created_at: time,
  })
  .meta({ id: 'Connection' })

export const connectionList = z.object({ data: z.array(connection) }).meta({ id: 'ConnectionList' })

export const accessToken = z
  .object({
    access_token: z.string(),
    token_type: z.string(),
    expires_at: time.nullable().describe('Ask again then. Null: the provider does not say.'),
    scopes: z.array(z.string()).describe('What the token is good for, at least what was asked for.'),
    connection_id: uuid,
    provider_account_label: z.string().nullable(),
  })
  .meta({ id: 'AccessToken' })
