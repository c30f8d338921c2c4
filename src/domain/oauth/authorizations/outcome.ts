/** Describes the outcome of an authorization for people, and stores failures for the caller that waits. */

import { ConflictError, DomainError } from '../../errors/errors.ts'
import { OAuthFailure } from '../../ports/oauth-client.ts'
import { type Core, OAUTH_CHANNEL } from '../../transaction/context.ts'
import { adminHint } from '../provider-access.ts'
import type { SavedToken } from '../tokens/save.ts'

/** The provider granted fewer scopes than requested. The token is stored anyway. */
export class IncompleteGrantError extends ConflictError {
  constructor(reason: string) {
    super(reason, 'AUTHORIZATION_FAILED')
  }
}

/** Stores the failure, unless the authorization has already ended. */
export async function failAuthorization({ db }: Core, id: string, reason: string): Promise<void> {
  await db.$executeRaw`
    WITH failed AS (
      UPDATE oauth_authorizations SET status = 'failed', failure = ${reason}, code_verifier = NULL, finished_at = now()
      WHERE id = ${id}::uuid AND status = 'exchanging' RETURNING id
    )
    SELECT pg_notify(${OAUTH_CHANNEL}, id::text) FROM failed`
}

/** Returns the reason to store and the error to throw. `provider`: its name. */
export function explainFailure(error: unknown, provider: string): { reason: string; shown: unknown } {
  if (error instanceof DomainError) return { reason: error.message, shown: error }
  if (!(error instanceof OAuthFailure)) return { reason: 'An internal error occurred on this server.', shown: error }
  const late = error.error === 'invalid_grant' ? ' The link was followed too late, or twice.' : ''
  const reason = `The OAuth provider '${provider}' ${error.message}${adminHint(error.error)}.${late}`
  const shown =
    error.kind === 'refused'
      ? new ConflictError(reason, 'AUTHORIZATION_FAILED')
      : new DomainError('OAUTH_PROVIDER_UNAVAILABLE', reason)
  return { reason, shown }
}

const MAX_LISTED_SCOPES = 20

/** Sentences about scopes that were requested but not granted; null: all were granted. */
export function describeMissingScopes(
  { scopes: requested, provider }: { scopes: string[]; provider: { name: string } },
  scopes: readonly string[],
  saved: SavedToken,
): string | null {
  if (requested.every((scope) => scopes.includes(scope))) return null
  const only = scopes.length === 0 ? 'none of the permissions that were asked for' : `only: ${formatScopes(scopes)}`
  const agents =
    saved.agents.length === 0
      ? 'but no agent was connected to it'
      : 'but only for the agents that were connected to it before'
  const loss = describeLostScopes(saved)
  const granted = `The OAuth provider '${provider.name}' granted ${only}. The token is kept, ${agents}.`
  return loss === null ? granted : `${granted} ${loss}`
}

/** Sentence about scopes that connected agents lost; null: none. */
export function describeLostScopes({ agents, lost }: SavedToken): string | null {
  if (agents.length === 0 || lost.length === 0) return null
  return `The token has lost permissions: ${formatScopes(lost)}. Agents that need them can’t use it until they are given again.`
}

function formatScopes(scopes: readonly string[]): string {
  const more = scopes.length - MAX_LISTED_SCOPES
  return scopes.slice(0, MAX_LISTED_SCOPES).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
