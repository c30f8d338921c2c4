/** Takes the state that a call-back brings: it is good once, for one provider, until it expires. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core } from '../context.ts'
import { ForbiddenError } from '../errors.ts'
import { hashState } from '../state.ts'
import { EXCHANGE_SECONDS, STOPPED } from './schemas.ts'

/** The authorization, which is this server's to finish from here on. `takenAt`: in the database's time. */
export type Consumed = NonNullable<Awaited<ReturnType<typeof read>>> & { takenAt: Date }

/** What came of a link when it was used. `incomplete`: there is a token, but not all that was asked for was granted. */
export type LinkOutcome = 'connected' | 'incomplete' | 'failed' | 'unknown'

/** Whoever has reloaded the page, or gone back to it, is not told that nothing has happened. */
export class UsedLinkError extends ForbiddenError {
  readonly outcome: LinkOutcome
  /** `rest`: of the sentence, and what comes after it */
  constructor(rest: string, outcome: LinkOutcome) {
    super(`This link was used already${rest}`)
    this.outcome = outcome
  }
}

/**
 * `providerId`: of the call-back's path, as `redirectUriOf` puts it there. Of two that come at the same moment one gets
 * it. Nobody gets one that was begun with a key that was revoked since. Throws ForbiddenError, having changed nothing.
 */
export async function consume(core: Core, providerId: string, state: string): Promise<Consumed> {
  // a is the authorization, p its provider
  const named = Prisma.sql`a.state_hash = ${hashState(state)} AND p.id = a.oauth_provider_id
    AND ${providerId} = CASE WHEN p.is_dynamic_client THEN p.id::text ELSE p.provider_id END`
  const [taken] = await core.db.$queryRaw<{ id: string; takenAt: Date }[]>`
    UPDATE oauth_authorizations a
    SET status = 'exchanging', expires_at = now() + make_interval(secs => ${EXCHANGE_SECONDS}::float8)
    FROM oauth_providers p
    WHERE ${named} AND a.status = 'pending' AND a.expires_at > now()
      AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.id::text = a.created_by AND k.revoked_at IS NOT NULL)
    RETURNING a.id, now() AS "takenAt"`
  const found = taken && (await read(core, taken.id))
  if (found) return { ...found, takenAt: taken.takenAt }
  const [was] = await core.db.$queryRaw<Was[]>`
    SELECT a.status, a.failure, a.token_id IS NOT NULL AS kept, a.expires_at <= now() AS over
    FROM oauth_authorizations a, oauth_providers p WHERE ${named}`
  throw refusal(was)
}

interface Was {
  status: string
  failure: string | null
  /** there is a token of it */
  kept: boolean
  over: boolean
}

/** Said to who has the state, and nobody else. */
function refusal(was: Was | undefined): ForbiddenError {
  switch (was?.status) {
    case 'completed':
      return new UsedLinkError(', and the account was connected then.', 'connected')
    case 'failed':
      return new UsedLinkError(`. ${was.failure}`, was.kept ? 'incomplete' : 'failed')
    case 'exchanging':
      return was.over
        ? new UsedLinkError(`. ${STOPPED}`, 'failed')
        : new UsedLinkError(', and what came of it is not known yet.', 'unknown')
    case 'pending':
      return new ForbiddenError('This link has expired.')
    default:
      return new ForbiddenError('This link is not one of ours, or its OAuth provider was deleted since.')
  }
}

function read({ db }: Core, id: string) {
  return db.oAuthAuthorization.findUnique({ where: { id }, include: { provider: true, workspace: true } })
}
