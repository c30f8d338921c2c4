/** Takes the state that a call-back brings: it is good once, for one provider, until it expires. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core } from '../context.ts'
import { ForbiddenError } from '../errors.ts'
import { hashState } from '../state.ts'
import { EXCHANGE_SECONDS } from './schemas.ts'

/** The authorization, which is this server's to finish from here on. `takenAt`: in the database's time. */
export type Consumed = NonNullable<Awaited<ReturnType<typeof read>>> & { takenAt: Date }

/** Whoever has reloaded the page, or gone back to it, is not told that nothing has happened. */
export class UsedLinkError extends ForbiddenError {
  /** the account was connected then */
  readonly connected: boolean
  /** `rest`: of the sentence, and what comes after it */
  constructor(rest: string, connected: boolean) {
    super(`This link was used already${rest}`)
    this.connected = connected
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
  const [was] = await core.db.$queryRaw<{ status: string; failure: string | null }[]>`
    SELECT a.status, a.failure FROM oauth_authorizations a, oauth_providers p WHERE ${named}`
  throw refusal(was)
}

/** Said to who has the state, and nobody else. */
function refusal(was: { status: string; failure: string | null } | undefined): ForbiddenError {
  switch (was?.status) {
    case 'completed':
      return new UsedLinkError(', and the account was connected then.', true)
    case 'failed':
      return new UsedLinkError(`. ${was.failure}`, false)
    case 'exchanging':
      return new UsedLinkError(', and what came of it is not known yet.', false)
    case 'pending':
      return new ForbiddenError('This link has expired.')
    default:
      return new ForbiddenError('This link is not one of ours.')
  }
}

function read({ db }: Core, id: string) {
  return db.oAuthAuthorization.findUnique({ where: { id }, include: { provider: true, workspace: true } })
}
