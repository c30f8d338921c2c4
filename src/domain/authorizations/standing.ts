/** Where a person stands with an agent, as far as their tokens at a provider go. Pure. */
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import { sameOrigin } from '../providers/rules.ts'
import { covers, type TokenView, tokenStatus } from '../tokens/token.ts'
import type { AuthorizationStatus } from './schemas.ts'

/** `connections`: those to the agent that is asked for. */
export type Candidate = TokenView & { connections: readonly { id: string }[] }

export interface Standing {
  status: AuthorizationStatus
  /** completed: the one that will do; otherwise the one that is to be renewed, if any */
  token: Candidate | null
}

/**
 * `tokens`: the person's at the provider, the default one first, then by age. `agentId` null: no agent needs it. What
 * is renewed is the token that lacks least, so that the connections it has go on working.
 */
export function standing(
  tokens: readonly Candidate[],
  provider: Pick<OAuthProvider, 'tokenUrl'>,
  asked: { scopes: readonly string[]; agentId: string | null },
  now: Date,
): Standing {
  const linked = (token: Candidate) => asked.agentId === null || token.connections.length > 0
  const usable = (token: Candidate) => !hasEnded(token, provider, now)
  // find() takes the first of equals: connected ones go before the others, and the order of `tokens` decides
  const ordered = [...tokens.filter(linked), ...tokens.filter((token) => !linked(token))]
  const covering = ordered.filter((token) => covers(token, asked.scopes))
  // one of another account does not step in for one that the agent is connected to: that one is renewed
  const its = covering.filter(linked)
  const good = (its.length > 0 ? its : covering).find(usable)
  if (good) return { status: linked(good) ? 'completed' : 'connection_required', token: good }
  const ended = covering[0]
  if (ended) return { status: 'token_expired', token: ended }
  return { status: 'pending', token: ordered.find(usable) ?? ordered[0] ?? null }
}

/**
 * Also when the provider's token endpoint has moved to another address: that one is not shown what the old one issued.
 */
function hasEnded(token: Candidate, provider: Pick<OAuthProvider, 'tokenUrl'>, now: Date): boolean {
  return tokenStatus(token, now) === 'EXPIRED' || !sameOrigin(token.tokenUrl, provider.tokenUrl)
}
