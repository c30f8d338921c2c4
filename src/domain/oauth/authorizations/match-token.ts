/** Whether one of a person's tokens at a provider will do for an agent, or has to be renewed. Pure. */
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { sameOrigin } from '../provider-access/access.ts'
import { coversScopes, type TokenView, tokenStatus } from '../tokens/token.ts'
import type { AuthorizationStatus } from './schemas.ts'

/** `connections`: to the agent in question only. */
export type Candidate = TokenView & { connections: readonly { id: string }[] }

export interface TokenMatch {
  status: AuthorizationStatus
  /** the token that will do, or otherwise the one to renew, if any */
  token: Candidate | null
}

/**
 * `tokens`: the person's at the provider, the default one first, then by age. `agentId` null: no agent is involved. The
 * token that comes closest is the one to renew, so that its connections go on working.
 */
export function matchToken(
  tokens: readonly Candidate[],
  provider: Pick<OAuthProvider, 'tokenUrl'>,
  asked: { scopes: readonly string[]; agentId: string | null },
  now: Date,
): TokenMatch {
  const connected = (token: Candidate) => asked.agentId === null || token.connections.length > 0
  const usable = (token: Candidate) => !isUnusable(token, provider, now)
  // connected ones first, otherwise in the order of `tokens`: find() returns the first match
  const ordered = [...tokens.filter(connected), ...tokens.filter((token) => !connected(token))]
  const covering = ordered.filter((token) => coversScopes(token, asked.scopes))
  // an expired token that the agent is connected to is renewed, even if one of another account would do
  const candidates = covering.some(connected) ? covering.filter(connected) : covering
  const match = candidates.find(usable)
  if (match) return { status: connected(match) ? 'completed' : 'connection_required', token: match }
  const ended = covering[0]
  if (ended) return { status: 'token_expired', token: ended }
  return { status: 'pending', token: ordered.find(usable) ?? ordered[0] ?? null }
}

/** Also true if the provider's address has changed: the new one is not shown tokens that the old one has issued. */
function isUnusable(token: Candidate, provider: Pick<OAuthProvider, 'tokenUrl'>, now: Date): boolean {
  return tokenStatus(token, now) === 'EXPIRED' || !sameOrigin(token.tokenUrl, provider.tokenUrl)
}
