/** Consumes the `state` of a callback. A state is valid once, for one provider, until it expires. */
import { Prisma } from '../../../generated/prisma/client.ts'
import { hashState } from '../../crypto/oauth-state.ts'
import { ForbiddenError } from '../../errors/errors.ts'
import type { Core } from '../../transaction/context.ts'
import { EXCHANGE_SECONDS, SERVER_STOPPED } from './schemas.ts'

/** Only this call may finish the authorization. `takenAt` comes from the database's clock. */
export type ConsumedAuthorization = NonNullable<Awaited<ReturnType<typeof read>>> & { takenAt: Date }

/** Result of the first use of a link. `incomplete`: a token was stored, but the provider granted fewer scopes than requested. */
export type LinkOutcome = 'connected' | 'incomplete' | 'failed' | 'unknown'

/** The link was used before, for example because the person reloaded the page. */
export class UsedLinkError extends ForbiddenError {
  readonly outcome: LinkOutcome
  /** `rest` ends the sentence and may add more sentences. */
  constructor(rest: string, outcome: LinkOutcome) {
    super(`This link was used already${rest}`)
    this.outcome = outcome
  }
}

/**
 * One of several concurrent calls succeeds. A revoked API key makes its states invalid. After ForbiddenError nothing is changed.
 */
export async function consumeState(core: Core, providerId: string, state: string): Promise<ConsumedAuthorization> {
  // a: the authorization; p: its provider
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
  const [past] = await core.db.$queryRaw<EarlierUse[]>`
    SELECT a.status, a.failure, a.token_id IS NOT NULL AS stored, a.expires_at <= now() AS expired
    FROM oauth_authorizations a, oauth_providers p WHERE ${named}`
  throw refuse(past)
}

interface EarlierUse {
  status: string
  failure: string | null
  stored: boolean
  expired: boolean
}

/** Returns the error for an unusable state. Only a caller that has the state can read `failure`. */
function refuse(past: EarlierUse | undefined): ForbiddenError {
  switch (past?.status) {
    case 'completed':
      return new UsedLinkError(', and the account was connected then.', 'connected')
    case 'failed':
      return new UsedLinkError(`. ${past.failure}`, past.stored ? 'incomplete' : 'failed')
    case 'exchanging':
      return past.expired
        ? new UsedLinkError(`. ${SERVER_STOPPED}`, 'failed')
        : new UsedLinkError(', and its result is not known yet.', 'unknown')
    case 'pending':
      return new ForbiddenError('This link has expired.')
    default:
      return new ForbiddenError('This link is unknown, or its OAuth provider was deleted. Authenticate again.')
  }
}

function read({ db }: Core, id: string) {
  return db.oAuthAuthorization.findUnique({ where: { id }, include: { provider: true, workspace: true } })
}
