/** The shapes of authenticate and wait (contract 8). */
import { z } from 'zod'
import { optional, printable, queryInt, uuid } from '../fields.ts'
import { agentId, scopes } from '../tokens/schemas.ts'

export const AUTHORIZATION_STATUSES = ['completed', 'pending', 'connection_required', 'token_expired'] as const
export type AuthorizationStatus = (typeof AUTHORIZATION_STATUSES)[number]

/** What authenticate and wait answer. */
export interface AuthorizationView {
  status: AuthorizationStatus
  /** where the person goes; null: they need not, or it was given out before: of its state only a hash is stored */
  url: string | null
  /** what can be waited for */
  authId: string | null
  /** the token that is there */
  tokenId: string | null
}

/** Minutes that a person has to come back. */
export const VALID_MINUTES = 15

/**
 * Seconds that a server has for the exchange, from the call-back on. Longer than its calls at the provider take
 * together.
 */
export const EXCHANGE_SECONDS = 120

/** Why one is over whose exchange took longer, for people. */
export const STOPPED = 'The server stopped while it was finishing it.'

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
