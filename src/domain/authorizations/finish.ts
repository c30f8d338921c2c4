/**
 * Finishes an authorization: a person comes back from the provider with the state that `authenticate` gave out and a
 * code. The state stands for the workspace, for whose token it will be and for the agent; it is used up first. Whoever
 * comes back need not wait: the code is good once, so its exchange goes on without them.
 */
import { z } from 'zod'
import { link } from '../connections/link.ts'
import { type Core, OAUTH_CHANNEL, type Tx, transaction } from '../context.ts'
import { ConflictError, ForbiddenError, ValidationError } from '../errors.ts'
import { parse } from '../parse.ts'
import type { Account, TokenSet } from '../providers/client.ts'
import { accessOf } from '../providers/find.ts'
import { hintOf } from '../providers/hint.ts'
import { grantedScopes, grantedUntil } from '../tokens/granted.ts'
import { type Kept, keepToken } from '../tokens/keep.ts'
import { queueRevocation } from '../tokens/revocations.ts'
import { accountOf } from './account.ts'
import { type Consumed, consume } from './consume.ts'
import { explained, failAuthorization, IncompleteGrantError } from './fail.ts'
import { ownerOf } from './owner.ts'
import { openVerifier } from './verifier.ts'

/** The rest is the provider's and our client's to understand. */
const callbackInput = z
  .object({
    path: z.object({ provider_id: z.string() }),
    query: z.object({
      state: z.string().min(1).max(1024),
      code: z.string().min(1).optional(),
      error: z.string().min(1).optional(),
    }),
  })
  .refine(({ query }) => query.code !== undefined || query.error !== undefined, {
    path: ['query', 'code'],
    error: 'This field is required.',
  })

/** What a call-back brings: the provider that the path names, and the parameters. */
export interface Callback {
  providerId: string
  parameters: URLSearchParams
}

/** What is connected now, in names for people. */
export interface Finished {
  provider: string
  /** null: the provider does not tell */
  account: string | null
  workspace: string
  owner: string
  /** null: no agent was named */
  agentId: string | null
  /** the agents that were connected to the token already, and still are */
  agents: string[]
  /** what those agents have lost by it, as a sentence; null: nothing */
  loss: string | null
}

/** What the exchange has brought. */
interface Granted {
  tokens: TokenSet
  scopes: string[]
  account: Account | null
  expiresAt: Date | null
}

/**
 * Stores the token, in the place of the one it renews, and connects the agent to it. A token that lacks scopes that
 * were asked for is kept, too, but then the authorization has failed and no agent is connected. Throws ValidationError;
 * ForbiddenError for a state that is not good, and when the person has declined; ConflictError (AUTHORIZATION_FAILED),
 * IncompleteGrantError among them; DomainError (OAUTH_PROVIDER_UNAVAILABLE). But for the first two the authorization
 * has failed then, for the same reason.
 */
export async function finishAuthorization(core: Core, { providerId, parameters }: Callback): Promise<Finished> {
  const raw = { path: { provider_id: providerId }, query: single(parameters) }
  const { query } = parse(callbackInput, raw, { foreignQuery: true })
  const authorization = await consume(core, providerId, query.state)
  const finished = finish(core, authorization, parameters, query)
  // the server's stop waits for it
  core.underWay.begin(authorization.id, async () => void (await finished.catch(() => {})))
  return finished
}

async function finish(
  core: Core,
  authorization: Consumed,
  callback: URLSearchParams,
  { state, error: refused }: { state: string; error?: string | undefined },
): Promise<Finished> {
  const { provider, workspace } = authorization
  try {
    if (refused !== undefined) throw refusal(refused, provider.name)
    const owner = await ownerOf(core, workspace, authorization.subject)
    const granted = await exchange(core, authorization, callback, state)
    const outcome = await transaction(core, (tx) => keep(core, tx, authorization, granted))
    if (outcome instanceof Error) throw outcome
    return {
      provider: provider.name,
      account: granted.account?.label ?? null,
      workspace: workspace.name,
      owner,
      agentId: authorization.agentId,
      agents: outcome.agents,
      loss: lossOf(outcome),
    }
  } catch (error) {
    const { reason, shown } = explained(error, provider.name)
    await failAuthorization(core, authorization.id, reason)
    throw shown
  }
}

/** None may be there twice (RFC 6749, 3.1): whoever reads the first one and whoever reads the last would differ. */
function single(parameters: URLSearchParams): Record<string, string> {
  const names = [...parameters.keys()]
  // counted, not looked up one by one: anybody may send thousands
  if (new Set(names).size < names.length)
    throw new ValidationError([{ loc: ['query'], msg: 'No parameter may be there twice.', type: 'value_error' }])
  return Object.fromEntries(parameters)
}

/** Who reads it knows nothing of OAuth; of what the address says nothing is shown but a plain code. */
function refusal(error: string, provider: string): Error {
  if (error === 'access_denied') return new ForbiddenError(`Access was declined at ${provider}.`)
  const said = /^[a-z_]{1,64}$/.test(error) ? `: ${error}` : ''
  return new ConflictError(
    `The OAuth provider '${provider}' answered with an error${said}${hintOf(error)}.`,
    'AUTHORIZATION_FAILED',
  )
}

async function exchange(
  core: Core,
  authorization: Consumed,
  callback: URLSearchParams,
  state: string,
): Promise<Granted> {
  const { id, provider, redirectUri, codeVerifier: sealed, takenAt } = authorization
  const access = accessOf(core.keyring, provider)
  const codeVerifier = sealed === null ? null : openVerifier(core.keyring, id, sealed)
  const tokens = await core.oauth.exchange(access, { callback, state, redirectUri, codeVerifier })
  const scopes = grantedScopes(authorization.scopes, tokens.scopes)
  const account = await accountOf(core, provider, access, tokens, scopes)
  return { tokens, scopes, account, expiresAt: grantedUntil(tokens.expiresIn, takenAt) }
}

/** All of it or nothing. Returns why it comes to nothing, if it does: what is written down then is to be committed. */
async function keep(core: Core, tx: Tx, authorization: Consumed, granted: Granted): Promise<Kept | ConflictError> {
  const { id, workspaceId, subject, agentId, provider, createdBy } = authorization
  if (!(await holdProvider(tx, provider.id))) {
    const { tokens } = granted
    await queueRevocation(tx, core.keyring, provider, { id, tokenUrl: provider.tokenUrl }, tokens)
    return new ConflictError('The OAuth provider was deleted meanwhile.', 'AUTHORIZATION_FAILED')
  }
  const renews = authorization.renewsTokenId
  const kept = await keepToken(tx.sql, core.keyring, { ...granted, workspaceId, subject, provider, renews })
  const type = kept.isNew ? 'oauth_token.created' : 'oauth_token.updated'
  tx.emit({ workspaceId, type, subjectId: kept.id, actor: createdBy })
  const failure = lackOf(authorization, granted, kept)
  if (agentId && !failure) await link(tx, { workspaceId, agentId, tokenId: kept.id, subject: createdBy })
  const status = failure ? 'failed' : 'completed'
  await tx.sql.$executeRaw`
    WITH ended AS (
      UPDATE oauth_authorizations
      SET status = ${status}, failure = ${failure}, token_id = ${kept.id}::uuid, code_verifier = NULL, finished_at = now()
      WHERE id = ${id}::uuid
    )
    SELECT pg_notify(${OAUTH_CHANNEL}, changed) FROM unnest(ARRAY[${id}, ${kept.id}]) AS changed`
  return failure === null ? kept : new IncompleteGrantError(failure)
}

/** Until the commit it is not deleted. False: it was. */
async function holdProvider(tx: Tx, id: string): Promise<boolean> {
  const found = await tx.sql.$queryRaw<unknown[]>`SELECT 1 FROM oauth_providers WHERE id = ${id}::uuid FOR KEY SHARE`
  return found.length > 0
}

/** so many scopes are told */
const TOLD = 20

/** What is missing of what was asked for, as sentences; null: nothing. */
function lackOf({ scopes: asked, provider }: Consumed, { scopes }: Granted, kept: Kept): string | null {
  if (asked.every((scope) => scopes.includes(scope))) return null
  const only = scopes.length === 0 ? 'none of the permissions that were asked for' : `only: ${listed(scopes)}`
  const agents =
    kept.agents.length === 0
      ? 'but no agent was connected to it'
      : 'but only for the agents that were connected to it before'
  const loss = lossOf(kept)
  const granted = `The OAuth provider '${provider.name}' granted ${only}. The token is kept, ${agents}.`
  return loss === null ? granted : `${granted} ${loss}`
}

/** A token that nobody was connected to is missed by nobody. */
function lossOf({ agents, lost }: Kept): string | null {
  if (agents.length === 0 || lost.length === 0) return null
  return `The token has lost permissions: ${listed(lost)}. Agents that need them can’t use it until they are given again.`
}

function listed(scopes: readonly string[]): string {
  const more = scopes.length - TOLD
  return scopes.slice(0, TOLD).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
