/** The shapes of authenticate and wait (docs/oauth.md#rules). */
import { z } from 'zod'
import { optional, printable, queryInt, uuid } from '../../parsing/fields.ts'
import { agentId, scopes } from '../../values/oauth-token.ts'

export const AUTHORIZATION_STATUSES = ['completed', 'pending', 'connection_required', 'token_expired'] as const
export type AuthorizationStatus = (typeof AUTHORIZATION_STATUSES)[number]

/** The answer of authenticate and wait. */
export interface AuthorizationView {
  status: AuthorizationStatus
  /** where to send the person; null: nowhere, or it was given out before (only a hash of its state is stored) */
  url: string | null
  /** for `wait` */
  authId: string | null
  /** the token that matches, or was made */
  tokenId: string | null
}

/** Minutes that a person has to come back. */
export const AUTHORIZATION_MINUTES = 15

/** Seconds from the callback to the end of the exchange; longer than all calls at the provider together. */
export const EXCHANGE_SECONDS = 120

/** Why an authorization has failed whose exchange took longer, for people. */
export const SERVER_STOPPED = 'The server stopped while it was finishing it.'

/** Of the PKCE code verifier at rest (crypto/encrypted-value.ts): together with the code it gets a token, so it is sealed like one. */
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
