/** The shapes of an authorization, and `wait`, a long poll for its outcome (docs/oauth.md#rules). */
import { z } from 'zod'
import { longPoll } from '../../../platform/async/long-poll.ts'
import { takeSlot } from '../../concurrency/concurrency-limit.ts'
import { ConflictError, NotFoundError } from '../../errors/errors.ts'
import { optional, printable, queryInt, uuid } from '../../parsing/fields.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { whileValid } from '../../transaction/wait.ts'
import { agentId, scopes } from '../../values/oauth-provider.ts'

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

interface Row {
  status: 'pending' | 'exchanging' | 'completed' | 'failed'
  failure: string | null
  tokenId: string | null
  expired: boolean
}

/**
 * Allowed for the creator and the token's owner. Throws ConflictError (AUTHORIZATION_FAILED) with the reason; RATE_LIMITED for
 * too many waits of the workspace; UnauthenticatedError when the caller's credential ends during the wait.
 */
export async function waitForAuthorization(ctx: RequestContext, raw: RawInput): Promise<AuthorizationView> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(waitInput, raw)
  const authId = path.auth_id
  let existed = false
  const readOutcome = async () => {
    const [row] = await ctx.db.$queryRaw<Row[]>`
      SELECT status, failure, token_id AS "tokenId", expires_at <= now() AS expired FROM oauth_authorizations
      WHERE id = ${authId}::uuid AND workspace_id = ${ctx.workspace.id}::uuid AND ${ctx.actor.subject} IN (created_by, subject)`
    // an authorization that disappears during the wait was deleted with its provider
    if (!row)
      throw existed
        ? failed('The OAuth provider was deleted during the authorization.')
        : new NotFoundError('Authorization', authId)
    existed = true
    return outcomeOf(row, authId)
  }
  const take = () => takeSlot(ctx, 'waits')
  const ended = await whileValid(ctx, take, (signal, enter) =>
    longPoll(ctx.notifier, authId, query.timeout, signal, readOutcome, enter),
  )
  return ended ?? { status: 'pending', url: null, authId, tokenId: null }
}

/** Null: not ended yet. Throws ConflictError for a failed authorization. */
function outcomeOf({ status, failure, tokenId, expired }: Row, authId: string): AuthorizationView | null {
  if (status === 'failed') throw failed(failure!)
  if (status === 'completed') {
    if (!tokenId) throw failed('Its token was deleted.')
    return { status, url: null, authId, tokenId }
  }
  if (!expired) return null
  throw failed(
    status === 'pending'
      ? `The authorization was not finished within ${AUTHORIZATION_MINUTES} minutes.`
      : SERVER_STOPPED,
  )
}

const failed = (why: string) => new ConflictError(`${why} Authenticate again.`, 'AUTHORIZATION_FAILED')
