/** Which of the tokens that an agent is connected to it gets. Pure. */
import { ConflictError } from '../errors.ts'
import type { StoredToken } from './stored.ts'
import { covers, NOT_REFRESHABLE } from './token.ts'

export interface Asked {
  agentId: string
  /** as the caller has named it */
  providerId: string
  scopes: readonly string[]
  /** whose token; null: it was not said */
  userId: string | null
}

/**
 * `connected`: the tokens of the provider, in the order in which they are taken (the default ones first, then the
 * oldest). Throws ConflictError: CONNECTION_REQUIRED where none covers the scopes, TOKEN_EXPIRED where those that do
 * have expired for good, and CONFLICT where they are of several people. An expired one counts as its owner's there:
 * nobody else steps in for them.
 */
export function choose<T extends StoredToken>(connected: readonly T[], asked: Asked): T {
  const theirs = connected.filter(({ subject }) => asked.userId === null || subject === asked.userId)
  const fitting = theirs.filter((token) => covers(token, asked.scopes))
  if (fitting.length === 0) throw new ConflictError(whatIsMissing(theirs, asked), 'CONNECTION_REQUIRED')
  if (new Set(fitting.map(({ subject }) => subject)).size > 1)
    throw new ConflictError('The agent is connected to tokens of several people: name user_id.')
  const usable = fitting.find(isUsable)
  if (!usable) throw tokenExpired(fitting[0]!)
  return usable
}

function isUsable({ endedAt, refreshable, validFor }: StoredToken): boolean {
  return !endedAt && (refreshable || validFor === null || validFor > 0)
}

/** What has not ended, and can't be used, can't be refreshed. */
function tokenExpired({ endedBecause }: StoredToken): ConflictError {
  const because = endedBecause ?? NOT_REFRESHABLE
  return new ConflictError(
    `The token has expired for good. ${because} Its owner has to authenticate again.`,
    'TOKEN_EXPIRED',
  )
}

function whatIsMissing(theirs: readonly StoredToken[], { agentId, providerId, scopes, userId }: Asked): string {
  const whose = userId === null ? '' : ' of this user'
  const how = 'Authenticate with agent_id and these scopes, or connect the agent to a token that has them.'
  if (theirs.length === 0)
    return `The agent ${agentId} is not connected to a token${whose} of the provider ${providerId}. ${how}`
  const [fewest] = theirs
    .map((token) => scopes.filter((scope) => !token.scopes.includes(scope)))
    .sort((one, other) => one.length - other.length)
  return `The tokens${whose} that the agent ${agentId} is connected to lack scopes: ${fewest!.join(' ')}. ${how}`
}
