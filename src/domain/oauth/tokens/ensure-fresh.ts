/** Refreshes an access token that has expired, or soon will, before it is issued. */

import { DomainError } from '../../errors/errors.ts'
import { OAuthFailure, OAuthProviderUnavailableError } from '../../ports/oauth-client.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { type RefreshOutcome, refreshToken } from './refresh.ts'
import { refreshFailureClause } from './token.ts'
import type { TokenSnapshot } from './token-snapshot.ts'

/** Longest wait for a refresh. Longer than the provider's timeout. */
const MAX_WAIT_SECONDS = 45
/** Longest wait while the current access token stays valid for more than twice this time. */
const SHORT_WAIT_SECONDS = 5

/** `as read`: use the token. `changed`: read it again first, because the call has waited. `ended`: unusable or deleted. */
export type Freshness = 'as read' | 'changed' | 'ended'

/** `provider`: its name. Throws OAuthProviderUnavailableError; UNAVAILABLE when the server is stopping. */
export async function ensureFresh(ctx: RequestContext, provider: string, token: TokenSnapshot): Promise<Freshness> {
  const { validForSeconds, refreshable } = token
  if (validForSeconds === null || !token.expiring || !refreshable) return 'as read'
  const seconds = validForSeconds > 2 * SHORT_WAIT_SECONDS ? SHORT_WAIT_SECONDS : MAX_WAIT_SECONDS
  const began = performance.now()
  const outcome = await refreshToken(ctx, token, seconds, ctx.client?.gone)
  switch (outcome.kind) {
    case 'fresh':
      return 'changed'
    case 'ended':
    case 'gone':
      return 'ended'
    default:
      // the current access token is still valid, so a failing provider does not matter to the caller yet
      if (validForSeconds - (performance.now() - began) / 1000 > 0) return 'changed'
      throw unavailable(provider, outcome)
  }
}

function unavailable(provider: string, outcome: Extract<RefreshOutcome, { kind: 'failed' | 'waiting' | 'stopping' }>) {
  if (outcome.kind === 'stopping') return new DomainError('UNAVAILABLE', 'This server is stopping. Try again.')
  return new OAuthProviderUnavailableError(
    provider,
    outcome.kind === 'failed'
      ? new OAuthFailure('unusable', refreshFailureClause(outcome.why))
      : new OAuthFailure('unanswered', 'was asked to refresh the token and has not answered yet'),
  )
}
