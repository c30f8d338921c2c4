/** Takes the state that a call-back brings: it is good once, for one provider, until it expires. */
import type { Core } from '../context.ts'
import { ForbiddenError } from '../errors.ts'
import { hashState } from '../state.ts'
import { EXCHANGE_SECONDS } from './schemas.ts'

/** The authorization, which is this server's to finish from here on. `takenAt`: in the database's time. */
export type Consumed = NonNullable<Awaited<ReturnType<typeof read>>> & { takenAt: Date }

/**
 * `providerId`: of the call-back's path, as `redirectUriOf` puts it there. Of two that come at the same moment one gets it. Nobody gets one that was begun
 * with a key that was revoked since. Throws ForbiddenError, having changed nothing.
 */
export async function consume(core: Core, providerId: string, state: string): Promise<Consumed> {
  const [taken] = await core.db.$queryRaw<{ id: string; takenAt: Date }[]>`
    UPDATE oauth_authorizations a
    SET status = 'exchanging', state_hash = NULL, expires_at = now() + make_interval(secs => ${EXCHANGE_SECONDS}::float8)
    FROM oauth_providers p
    WHERE a.state_hash = ${hashState(state)} AND a.status = 'pending' AND a.expires_at > now()
      AND p.id = a.oauth_provider_id
      AND ${providerId} = CASE WHEN p.is_dynamic_client THEN p.id::text ELSE p.provider_id END
      AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.id::text = a.created_by AND k.revoked_at IS NOT NULL)
    RETURNING a.id, now() AS "takenAt"`
  const found = taken && (await read(core, taken.id))
  if (found) return { ...found, takenAt: taken.takenAt }
  throw new ForbiddenError('This link is not one of ours, was used already, or has expired.')
}

function read({ db }: Core, id: string) {
  return db.oAuthAuthorization.findUnique({ where: { id }, include: { provider: true, workspace: true } })
}
