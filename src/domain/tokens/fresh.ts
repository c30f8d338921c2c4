/** An access token that can be used now: refreshed before it is handed out where it has expired, or is about to. */
import type { RequestContext } from '../context.ts'
import { DomainError } from '../errors.ts'
import { OAuthFailure, OAuthProviderUnavailableError } from '../providers/client.ts'
import { type Outcome, refreshToken } from './refresh.ts'
import type { StoredToken } from './stored.ts'
import { notRefreshed } from './token.ts'

/** seconds that a caller waits for a refresh: longer than the provider has for its answer */
const LONGEST_WAIT = 45
/** seconds, while the access token that is there is still good for a while */
const SHORT_WAIT = 5

/**
 * `as read`: it may be used. `changed`: it may be used, but the call has waited, so read it again. `ended`: it can't be
 * used any more, or was deleted.
 */
export type Freshness = 'as read' | 'changed' | 'ended'

/**
 * `token`: one that could be used when it was read. `provider`: its name. Throws OAuthProviderUnavailableError, and
 * DomainError (UNAVAILABLE).
 */
export async function ensureFresh(ctx: RequestContext, provider: string, token: StoredToken): Promise<Freshness> {
  const { validFor, refreshable } = token
  if (validFor === null || !token.expiring || !refreshable) return 'as read'
  const seconds = validFor > 2 * SHORT_WAIT ? SHORT_WAIT : LONGEST_WAIT
  const began = performance.now()
  const outcome = await refreshToken(ctx, token, seconds, ctx.signal)
  switch (outcome.kind) {
    case 'fresh':
      return 'changed'
    case 'ended':
    case 'gone':
      return 'ended'
    default:
      // what is still good does for now, whatever is wrong with the provider
      if (validFor - (performance.now() - began) / 1000 > 0) return 'changed'
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
