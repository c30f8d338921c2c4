/** An authorization that comes to nothing: why, and whoever waits for it is told. */
import { type Core, OAUTH_CHANNEL } from '../context.ts'
import { ConflictError, DomainError } from '../errors.ts'
import { OAuthFailure } from '../providers/client.ts'
import { hintOf } from '../providers/hint.ts'

/** Not all that was asked for was granted. There is a token, all the same. `reason`: for people. */
export class IncompleteGrantError extends ConflictError {
  constructor(reason: string) {
    super(reason, 'AUTHORIZATION_FAILED')
  }
}

/** `reason`: for people. One that has ended already stays as it is. */
export async function failAuthorization({ db }: Core, id: string, reason: string): Promise<void> {
  await db.$executeRaw`
    WITH failed AS (
      UPDATE oauth_authorizations SET status = 'failed', failure = ${reason}, code_verifier = NULL, finished_at = now()
      WHERE id = ${id}::uuid AND status = 'exchanging' RETURNING id
    )
    SELECT pg_notify(${OAUTH_CHANNEL}, id::text) FROM failed`
}

/** What is written down about it, and what is thrown. How to begin again is for others to say. `provider`: its name. */
export function explained(error: unknown, provider: string): { reason: string; shown: unknown } {
  if (error instanceof DomainError) return { reason: error.message, shown: error }
  if (!(error instanceof OAuthFailure)) return { reason: 'Something went wrong on this server.', shown: error }
  const late = error.error === 'invalid_grant' ? ' The link was followed too late, or twice.' : ''
  const reason = `The OAuth provider '${provider}' ${error.message}${hintOf(error.error)}.${late}`
  const shown =
    error.kind === 'refused'
      ? new ConflictError(reason, 'AUTHORIZATION_FAILED')
      : new DomainError('OAUTH_PROVIDER_UNAVAILABLE', reason)
  return { reason, shown }
}
