/** Waits for the end of an authorization: whoever began it needs not ask again and again. */
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { ConflictError, NotFoundError } from '../errors.ts'
import { lookUntil } from '../news.ts'
import { parse, type RawInput } from '../parse.ts'
import { takePlace } from '../room.ts'
import { type AuthorizationView, STOPPED, VALID_MINUTES, waitInput } from './schemas.ts'

interface Row {
  status: 'pending' | 'exchanging' | 'completed' | 'failed'
  failure: string | null
  tokenId: string | null
  over: boolean
}

/**
 * Answers as soon as it is completed; what it is when the time is up: pending. For who began it and for whose token it
 * is to be. Role: viewer. Throws ForbiddenError, ValidationError, NotFoundError; ConflictError (AUTHORIZATION_FAILED)
 * with the reason when it has failed; RATE_LIMITED when too many of the workspace wait.
 */
export async function waitForAuthorization(ctx: RequestContext, raw: RawInput): Promise<AuthorizationView> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(waitInput, raw)
  const authId = path.auth_id
  let wasThere = false
  const enter = () => takePlace(ctx, 'waits')
  const look = async () => {
    const row = await find(ctx, authId)
    // while somebody waits it goes with its provider only
    if (!row)
      throw wasThere ? failed('The OAuth provider was deleted meanwhile.') : new NotFoundError('Authorization', authId)
    wasThere = true
    return endOf(row, authId)
  }
  const ended = await lookUntil(ctx.oauthNews, authId, query.timeout, ctx.signal, look, enter)
  return ended ?? { status: 'pending', url: null, authId, tokenId: null }
}

async function find(ctx: RequestContext, authId: string): Promise<Row | undefined> {
  const { subject } = ctx.actor
  const [row] = await ctx.db.$queryRaw<Row[]>`
    SELECT status, failure, token_id AS "tokenId", expires_at <= now() AS over FROM oauth_authorizations
    WHERE id = ${authId}::uuid AND workspace_id = ${ctx.workspace.id}::uuid AND ${subject} IN (created_by, subject)`
  return row
}

/** Null: it has not ended yet. Throws ConflictError when it has failed. */
function endOf({ status, failure, tokenId, over }: Row, authId: string): AuthorizationView | null {
  if (status === 'failed') throw failed(failure!)
  if (status === 'completed') {
    if (!tokenId) throw failed('Its token was deleted since.')
    return { status, url: null, authId, tokenId }
  }
  if (!over) return null
  throw failed(status === 'pending' ? `Nobody finished it within ${VALID_MINUTES} minutes.` : STOPPED)
}

const failed = (why: string) => new ConflictError(`${why} Authenticate again.`, 'AUTHORIZATION_FAILED')
