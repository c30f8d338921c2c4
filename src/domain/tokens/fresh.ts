/** An access token that can be used now: refreshed before it is handed out where it has expired, or is about to. */
import type { RequestContext } from '../context.ts'
import { ConflictError, DomainError } from '../errors.ts'
import { OAuthFailure, OAuthProviderUnavailableError } from '../providers/client.ts'
import { type Outcome, refreshToken } from './refresh.ts'
import type { StoredToken } from './stored.ts'
import { notRefreshed } from './token.ts'

/** seconds that a caller waits for a refresh: longer than the provider has for its answer */
const LONGEST_WAIT = 45
/** seconds, while the access token that is there is still good for a while */
const SHORT_WAIT = 5

/**
 * True: the token may be used as it was read. False: it may be used, but the call has waited, so read it again.
 * `provider`: its name. Throws ConflictError (TOKEN_EXPIRED, CONNECTION_REQUIRED), OAuthProviderUnavailableError, and
 * DomainError (UNAVAILABLE).
 */
export async function ensureFresh(ctx: RequestContext, provider: string, token: StoredToken): Promise<boolean> {
  const { validFor } = token
  if (token.endedAt) throw tokenExpired(token.endedBecause)
  if (validFor === null || !token.expiring) return true
  if (!token.refreshable) {
    if (validFor > 0) return true
    throw tokenExpired('The provider gave no refresh token for it.')
  }
  const seconds = validFor > 2 * SHORT_WAIT ? SHORT_WAIT : LONGEST_WAIT
  const began = performance.now()
  const outcome = await refreshToken(ctx, token, seconds, ctx.signal)
  switch (outcome.kind) {
    case 'fresh':
      return false
    case 'ended':
      throw tokenExpired(outcome.because)
    case 'gone':
      throw new ConflictError(
        'The token was deleted meanwhile. Its owner has to authenticate again, with agent_id.',
        'CONNECTION_REQUIRED',
      )
    default:
      // what is still good does for now, whatever is wrong with the provider
      if (validFor - (performance.now() - began) / 1000 > 0) return false
      throw unavailable(provider, outcome)
  }
}

function unavailable(provider: string, outcome: Extract<Outcome, { kind: 'failed' | 'waiting' | 'stopping' }>) {
  if (outcome.kind === 'stopping') return new DomainError('UNAVAILABLE', 'This server is about to stop. Try again.')
  return new OAuthProviderUnavailableError(
    provider,
    outcome.kind === 'failed'
      ? new OAuthFailure('unusable', notRefreshed(outcome.why))
      : new OAuthFailure('unanswered', 'was asked to refresh the token and has not answered yet'),
  )
}

export function tokenExpired(because: string | null): ConflictError {
  const sentences = ['The token has expired for good.', because, 'Its owner has to authenticate again.']
  return new ConflictError(sentences.filter((sentence) => sentence).join(' '), 'TOKEN_EXPIRED')
}
