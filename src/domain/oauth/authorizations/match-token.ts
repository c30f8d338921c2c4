/** Decides whether one of a person's tokens at a provider is enough for an agent, or must be renewed. Pure. */
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { sameOrigin } from '../provider-access/access.ts'
import { coversScopes, type TokenView, tokenStatus } from '../tokens/token.ts'
import type { AuthorizationStatus } from './schemas.ts'

/** `connections`: only those to the requested agent. */
export type Candidate = TokenView & { connections: readonly { id: string }[] }

export interface TokenMatch {
  status: AuthorizationStatus
  /** the matching token, or else the token to renew, if any */
  token: Candidate | null
}

/** `tokens`: the default first, then the oldest. The closest one is renewed, so its connections continue to work. */
export function matchToken(
  tokens: readonly Candidate[],
  provider: Pick<OAuthProvider, 'tokenUrl'>,
  requested: { scopes: readonly string[]; agentId: string | null },
  now: Date,
): TokenMatch {
  const connected = (token: Candidate) => requested.agentId === null || token.connections.length > 0
  const usable = (token: Candidate) => !isUnusable(token, provider, now)
  // Connected tokens first, otherwise in the order of `tokens`: find() returns the first match.
  const ordered = [...tokens.filter(connected), ...tokens.filter((token) => !connected(token))]
  const covering = ordered.filter((token) => coversScopes(token, requested.scopes))
  // An expired token that the agent is connected to is renewed, even if a token of another account would match.
  const candidates = covering.some(connected) ? covering.filter(connected) : covering
  const match = candidates.find(usable)
  if (match) return { status: connected(match) ? 'completed' : 'connection_required', token: match }
  const ended = covering[0]
  if (ended) return { status: 'token_expired', token: ended }
  return { status: 'pending', token: ordered.find(usable) ?? ordered[0] ?? null }
}

/**
 * Also true after the provider's token endpoint moved to another origin: the new origin must not receive tokens of the old one.
 */
function isUnusable(token: Candidate, provider: Pick<OAuthProvider, 'tokenUrl'>, now: Date): boolean {
  return tokenStatus(token, now) === 'EXPIRED' || !sameOrigin(token.tokenUrl, provider.tokenUrl)
}
