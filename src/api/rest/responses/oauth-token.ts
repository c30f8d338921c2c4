/** Authorizations, tokens and connections as REST shows them, and what an agent is given (docs/oauth.md#rules). */
import { z } from 'zod'
import { AUTHORIZATION_STATUSES, type AuthorizationView } from '../../../domain/oauth/authorizations/schemas.ts'
import type { ConnectionView } from '../../../domain/oauth/connections/connection.ts'
import type { IssuedToken } from '../../../domain/oauth/tokens/issue.ts'
import type { ListedToken } from '../../../domain/oauth/tokens/list.ts'
import { displayLabel, TOKEN_STATUSES, tokenStatus, tokenStatusMessage } from '../../../domain/oauth/tokens/token.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { responseSchema, time } from './response-schema.ts'

export const authorization = responseSchema(
  { id: 'Authorization' },
  {
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
  },
  (view: AuthorizationView) => ({ oauthTokenId: view.tokenId }),
)

export const oauthToken = responseSchema(
  { id: 'OAuthToken', description: 'The token itself is in no answer but the one that an agent gets.' },
  {
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
  { deleted: z.int().describe('How many there were.') },
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
    expires_at: time.nullable().describe('Of the token, which is refreshed by itself where the provider allows it.'),
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
    expires_at: time.nullable().describe('Ask again then. Null: the provider does not say.'),
    scopes: z.array(z.string()).describe('What the token is good for, at least what was asked for.'),
    connection_id: uuid,
    provider_account_label: z.string().nullable(),
  },
  (token: IssuedToken) => ({ providerAccountLabel: token.accountLabel }),
)
