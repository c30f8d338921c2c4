/** Selects one of the tokens that an agent is connected to. Pure. */
import { ConflictError } from '../../errors/errors.ts'
import { coversScopes, NOT_REFRESHABLE } from './token.ts'
import type { TokenSnapshot } from './token-snapshot.ts'

export interface TokenRequest {
  agentId: string
  /** in the caller's spelling */
  providerId: string
  scopes: readonly string[]
  /** the token's owner; null: not given */
  userId: string | null
}

/**
 * `connected`: in order of preference. Throws ConflictError: CONNECTION_REQUIRED if none covers the scopes, TOKEN_EXPIRED if all
 * that do have ended, CONFLICT if those have several owners, including ended ones (../README.md).
 */
export function selectForAgent<T extends TokenSnapshot>(connected: readonly T[], request: TokenRequest): T {
  const ofUser = connected.filter(({ subject }) => request.userId === null || subject === request.userId)
  const fitting = ofUser.filter((token) => coversScopes(token, request.scopes))
  if (fitting.length === 0) throw new ConflictError(describeMissing(ofUser, request), 'CONNECTION_REQUIRED')
  if (new Set(fitting.map(({ subject }) => subject)).size > 1)
    throw new ConflictError('The agent is connected to tokens of several people: name user_id.')
  const usable = fitting.find(isUsable)
  if (!usable) throw tokenExpired(fitting[0]!)
  return usable
}

function isUsable({ endedAt, refreshable, validForSeconds }: TokenSnapshot): boolean {
  return !endedAt && (refreshable || validForSeconds === null || validForSeconds > 0)
}

function tokenExpired({ endedBecause }: TokenSnapshot): ConflictError {
  const because = endedBecause ?? NOT_REFRESHABLE
  return new ConflictError(`The token has ended. ${because} Its owner must authenticate again.`, 'TOKEN_EXPIRED')
}

function describeMissing(
  ofUser: readonly TokenSnapshot[],
  { agentId, providerId, scopes, userId }: TokenRequest,
): string {
  const whose = userId === null ? '' : ' of this user'
  const how = 'Authenticate with agent_id and these scopes, or connect the agent to a token that has them.'
  if (ofUser.length === 0)
    return `The agent ${agentId} is not connected to a token${whose} of the provider ${providerId}. ${how}`
  const [fewest] = ofUser
    .map((token) => scopes.filter((scope) => !token.scopes.includes(scope)))
    .sort((one, other) => one.length - other.length)
  return `The tokens${whose} that the agent ${agentId} is connected to lack scopes: ${fewest!.join(' ')}. ${how}`
}
