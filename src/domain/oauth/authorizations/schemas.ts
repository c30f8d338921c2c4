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
export const SERVER_STOPPED = 'The server stopped while it was finishing it.'

/**
 * Encryption context of the PKCE code verifier. Verifier and code together yield a token, so the verifier is encrypted like one.
 */
export const verifierContext = (id: string) => `oauth_authorizations.code_verifier:${id}`

export const authenticateInput = z.object({
  body: z
    .object({
      provider: z.string().describe('Its `provider_id`, or the id of its row.'),
      scopes: scopes.describe('What the token has to be good for.'),
      agent_id: optional(agentId).describe('The agent that is to use it: connected when the person has come back.'),
      user_id: optional(printable(255)).describe(
        'Whose token it is to be. Default: the subject of the call; anybody else only for admins.',
      ),
      force_new: optional(z.boolean()).describe('Begins anew, whatever tokens there are: for another account.'),
    })
    .meta({ id: 'Authenticate' }),
})
export type AuthenticateBody = z.output<typeof authenticateInput>['body']

export const waitInput = z.object({
  path: z.object({ auth_id: uuid }),
  query: z.object({ timeout: queryInt(0, 60, 30).describe('Seconds to wait at most.') }),
})
