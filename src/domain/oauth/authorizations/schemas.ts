/** The input and output shapes of `authenticate` and `wait` (docs/oauth.md#rules). */
import { z } from 'zod'
import { optional, printable, queryInt, uuid } from '../../parsing/fields.ts'
import { agentId, scopes } from '../../values/oauth-token.ts'

export const AUTHORIZATION_STATUSES = ['completed', 'pending', 'connection_required', 'token_expired'] as const
export type AuthorizationStatus = (typeof AUTHORIZATION_STATUSES)[number]

export interface AuthorizationView {
  status: AuthorizationStatus
  /** where to send the person; null: no need, or the URL was returned before (only a hash of its state is stored) */
  url: string | null
  /** the id for `wait` */
  authId: string | null
  /** the matching or new token */
  tokenId: string | null
}

/** Time that a person has to finish an authorization. */
export const AUTHORIZATION_MINUTES = 15

/** Time limit from the callback to the end of the exchange. Longer than all calls to the provider together. */
export const EXCHANGE_SECONDS = 120

/** Failure reason of an exchange that exceeded its time limit. */
export const SERVER_STOPPED = 'The server stopped during the authorization.'

/**
 * Encryption context of the PKCE code verifier. Verifier and code together yield a token, so the verifier is encrypted like one.
 */
export const verifierContext = (id: string) => `oauth_authorizations.code_verifier:${id}`

export const authenticateInput = z.object({
  body: z
    .object({
      provider: z.string().describe('The `provider_id` of the provider, or the id of its row.'),
      scopes: scopes.describe('The scopes that the token must have.'),
      agent_id: optional(agentId).describe(
        'The agent that will use the token. It is connected when the person returns from the provider.',
      ),
      user_id: optional(printable(255)).describe(
        'The owner of the token. Default: the subject of the call. Only admins may name another person.',
      ),
      force_new: optional(z.boolean()).describe(
        'Starts a new authorization even if a token matches, for example for another account.',
      ),
    })
    .meta({ id: 'Authenticate' }),
})
export type AuthenticateBody = z.output<typeof authenticateInput>['body']

export const waitInput = z.object({
  path: z.object({ auth_id: uuid }),
  query: z.object({ timeout: queryInt(0, 60, 30).describe('The maximum wait in seconds.') }),
})
