/** Waits for the end of an authorization by long polling. */

import { longPoll } from '../../../platform/async/long-poll.ts'
import { takeSlot } from '../../concurrency/concurrency-limit.ts'
import { ConflictError, NotFoundError } from '../../errors/errors.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { whileValid } from '../../transaction/while-valid.ts'
import { AUTHORIZATION_MINUTES, type AuthorizationView, SERVER_STOPPED, waitInput } from './schemas.ts'

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
    const row = await find(ctx, authId)
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
    longPoll(ctx.oauthNotifier, authId, query.timeout, signal, readOutcome, enter),
  )
  return ended ?? { status: 'pending', url: null, authId, tokenId: null }
}

async function find(ctx: RequestContext, authId: string): Promise<Row | undefined> {
  const { subject } = ctx.actor
  const [row] = await ctx.db.$queryRaw<Row[]>`
    SELECT status, failure, token_id AS "tokenId", expires_at <= now() AS expired FROM oauth_authorizations
    WHERE id = ${authId}::uuid AND workspace_id = ${ctx.workspace.id}::uuid AND ${subject} IN (created_by, subject)`
  return row
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
