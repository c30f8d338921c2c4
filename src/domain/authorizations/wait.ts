/** Waits for the end of an authorization: whoever began it needs not ask again and again. */
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { ConflictError, NotFoundError } from '../errors.ts'
import { lookUntil } from '../news.ts'
import { parse, type RawInput } from '../parse.ts'
import { type AuthorizationView, VALID_MINUTES, waitInput } from './schemas.ts'

interface Row {
  status: 'pending' | 'exchanging' | 'completed' | 'failed'
  failure: string | null
  tokenId: string | null
  over: boolean
}

/**
 * Answers as soon as it is completed; what it is when the time is up: pending. For who began it and for whose token it
 * is to be. Role: viewer. Throws ForbiddenError, ValidationError, NotFoundError; ConflictError (AUTHORIZATION_FAILED)
 * with the reason when it has failed.
 */
export async function waitForAuthorization(ctx: RequestContext, raw: RawInput): Promise<AuthorizationView> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(waitInput, raw)
  const authId = path.auth_id
  const ended = await lookUntil(ctx.oauthNews, authId, query.timeout, ctx.signal, () => look(ctx, authId))
  return ended ?? { status: 'pending', url: null, authId, tokenId: null }
}

/** Null: it has not ended yet. */
async function look(ctx: RequestContext, authId: string): Promise<AuthorizationView | null> {
  const { subject } = ctx.actor
  const [row] = await ctx.db.$queryRaw<Row[]>`
    SELECT status, failure, token_id AS "tokenId", expires_at <= now() AS over FROM oauth_authorizations
    WHERE id = ${authId}::uuid AND workspace_id = ${ctx.workspace.id}::uuid AND ${subject} IN (created_by, subject)`
  if (!row) throw new NotFoundError('Authorization', authId)
  const { status, tokenId } = row
  if (status === 'failed') throw failed(row.failure!)
  if (status === 'completed') {
    if (!tokenId) throw failed('Its token was deleted since.')
    return { status, url: null, authId, tokenId }
  }
  if (!row.over) return null
  throw failed(
    status === 'pending'
      ? `Nobody finished it within ${VALID_MINUTES} minutes.`
      : 'The server stopped while it was finishing it.',
  )
}

const failed = (why: string) => new ConflictError(`${why} Authenticate again.`, 'AUTHORIZATION_FAILED')
