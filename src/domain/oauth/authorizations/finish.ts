/** Handles the OAuth callback: consumes the state, exchanges the code, stores the token and connects the agent (../README.md). */
import { z } from 'zod'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { clauseOf } from '../../../platform/http/outbound-failure.ts'
import { unseal } from '../../crypto/encrypted-value.ts'
import { ConflictError, ForbiddenError, ValidationError } from '../../errors/errors.ts'
import { uuid } from '../../parsing/fields.ts'
import { parse } from '../../parsing/parse.ts'
import type { Account, ProviderAccess, TokenSet } from '../../ports/oauth-client.ts'
import { toKeep } from '../../repositories/locks.ts'
import { type Core, OAUTH_CHANNEL, type ReadCore, type Tx, transaction } from '../../transaction/context.ts'
import { connectAgent } from '../tokens/connections.ts'
import { adminHint, openProviderAccess, publishedEndpoints } from '../tokens/provider-access.ts'
import { queueRevocation } from '../tokens/revoke.ts'
import { type SavedToken, saveToken } from '../tokens/save.ts'
import { grantedScopes } from '../tokens/token.ts'
import { verifierContext } from './authorization.ts'
import {
  type ConsumedAuthorization,
  consumeState,
  describeLostScopes,
  describeMissingScopes,
  explainFailure,
  failAuthorization,
  IncompleteGrantError,
} from './outcome.ts'

/** The OAuth client validates the other parameters. */
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

/** The connected account, with names for display. */
export interface FinishedAuthorization {
  provider: string
  /** null: the provider does not tell */
  account: string | null
  workspace: string
  owner: string
  /** null: the request named no agent */
  agentId: string | null
  /** agents that were connected to the token before */
  agents: string[]
  /** sentence that lists the scopes these agents lost; null: none */
  loss: string | null
}

interface ExchangeResult {
  tokens: TokenSet
  scopes: string[]
  account: Account | null
  expiresAt: Date | null
}

/**
 * Throws ForbiddenError for an invalid state or when the person declines; ConflictError (AUTHORIZATION_FAILED), also as
 * IncompleteGrantError; OAUTH_PROVIDER_UNAVAILABLE. After a valid state, the reason is also stored.
 */
export async function finishAuthorization(
  core: Core,
  { providerId, parameters }: { providerId: string; parameters: URLSearchParams },
): Promise<FinishedAuthorization> {
  const raw = { path: { provider_id: providerId }, query: requireSingleValues(parameters) }
  const { query } = parse(callbackInput, raw, { foreignQuery: true })
  const authorization = await consumeState(core, providerId, query.state)
  const finished = finish(core, authorization, parameters, query)
  // a stopping server waits for it
  core.inFlight.begin(authorization.id, async () => void (await finished.catch(() => {})))
  return finished
}

async function finish(
  core: Core,
  authorization: ConsumedAuthorization,
  callback: URLSearchParams,
  { state, error: refused }: { state: string; error?: string | undefined },
): Promise<FinishedAuthorization> {
  const { provider, workspace } = authorization
  try {
    if (refused !== undefined) throw providerError(refused, provider.name)
    const owner = await ownerName(core, authorization)
    const granted = await exchange(core, authorization, callback, state)
    const outcome = await transaction(core, (tx) => store(core, tx, authorization, granted))
    if (outcome instanceof Error) throw outcome
    return {
      provider: provider.name,
      account: granted.account?.label ?? null,
      workspace: workspace.name,
      owner,
      agentId: authorization.agentId,
      agents: outcome.agents,
      loss: describeLostScopes(outcome),
    }
  } catch (error) {
    const { reason, shown } = explainFailure(error, provider.name)
    await failAuthorization(core, authorization.id, reason)
    throw shown
  }
}

/** Rejects repeated parameters (RFC 6749, 3.1), because readers could disagree on which one counts. */
function requireSingleValues(parameters: URLSearchParams): Record<string, string> {
  const names = [...parameters.keys()]
  // A comparison in pairs would be slow: anyone may send thousands of parameters.
  if (new Set(names).size < names.length)
    throw new ValidationError([{ loc: ['query'], msg: 'No parameter may occur twice.', type: 'value_error' }])
  return Object.fromEntries(parameters)
}

/** The message shows only a plain error code, because anyone can forge the URL. */
function providerError(error: string, provider: string): Error {
  if (error === 'access_denied') return new ForbiddenError(`Access was declined at ${provider}.`)
  const code = /^[a-z_]{1,64}$/.test(error) ? `: ${error}` : ''
  return new ConflictError(
    `The OAuth provider '${provider}' answered with an error${code}${adminHint(error)}.`,
    'AUTHORIZATION_FAILED',
  )
}

async function exchange(
  core: Core,
  authorization: ConsumedAuthorization,
  callback: URLSearchParams,
  state: string,
): Promise<ExchangeResult> {
  const { id, provider, redirectUri, codeVerifier: sealed, takenAt } = authorization
  const access = openProviderAccess(core.keyring, provider)
  const codeVerifier = sealed === null ? null : unseal(core.keyring, verifierContext(id), sealed)
  const tokens = await core.oauth.exchange(access, { callback, state, redirectUri, codeVerifier })
  const scopes = grantedScopes(authorization.scopes, tokens.scopes)
  const account = await resolveAccount(core, provider, access, tokens, scopes)
  const { expiresIn } = tokens
  // counted from before the request, so it is never later than the real expiry
  const expiresAt = expiresIn === null ? null : new Date(takenAt.getTime() + expiresIn * 1000)
  return { tokens, scopes, account, expiresAt }
}

/** Asks userinfo if the token response has no name. Its failure is only logged. Null: unknown. */
async function resolveAccount(
  core: Core,
  provider: OAuthProvider,
  access: ProviderAccess,
  { account, accessToken }: Pick<TokenSet, 'account' | 'accessToken'>,
  scopes: readonly string[],
): Promise<Account | null> {
  const named = account && account.label !== account.id
  // userinfo requires this scope (OpenID Connect Core, 5.3)
  if (named || !scopes.includes('openid')) return account
  try {
    const { userinfoUrl } = await publishedEndpoints(core, provider, access)
    const info = userinfoUrl ? await core.oauth.userinfo(access, userinfoUrl, accessToken) : null
    // a response about another account must not be used (5.3.2)
    return info && (!account || info.id === account.id) ? info : account
  } catch (error) {
    core.log.warn(
      { provider: provider.providerId, failure: clauseOf(error) },
      'a provider did not identify the account of a new token',
    )
    return account
  }
}

/** Stores token, connection and outcome in one transaction. An error whose outcome must be committed is returned, not thrown. */
async function store(
  core: ReadCore,
  tx: Tx,
  authorization: ConsumedAuthorization,
  granted: ExchangeResult,
): Promise<SavedToken | ConflictError> {
  const { id, workspaceId, subject, agentId, provider, createdBy } = authorization
  // not deleted until the commit
  const kept = await tx.sql.$queryRaw<unknown[]>`
    SELECT 1 FROM oauth_providers WHERE id = ${provider.id}::uuid ${toKeep('oauth_providers')}`
  if (kept.length === 0) {
    const { tokens } = granted
    await queueRevocation(tx, core.keyring, provider, { id, tokenUrl: provider.tokenUrl }, tokens)
    return new ConflictError('The OAuth provider was deleted during the authorization.', 'AUTHORIZATION_FAILED')
  }
  const renews = authorization.renewsTokenId
  const saved = await saveToken(tx.sql, core.keyring, { ...granted, workspaceId, subject, provider, renews })
  const type = saved.isNew ? 'oauth_token.created' : 'oauth_token.updated'
  tx.emit({ workspaceId, type, subjectId: saved.id, actor: { id: createdBy } })
  const failure = describeMissingScopes(authorization, granted.scopes, saved)
  if (agentId && !failure) await connectAgent(tx, { workspaceId, agentId, tokenId: saved.id, subject: createdBy })
  const status = failure ? 'failed' : 'completed'
  await tx.sql.$executeRaw`
    WITH ended AS (
      UPDATE oauth_authorizations
      SET status = ${status}, failure = ${failure}, token_id = ${saved.id}::uuid, code_verifier = NULL, finished_at = now()
      WHERE id = ${id}::uuid
    )
    SELECT pg_notify(${OAUTH_CHANNEL}, changed) FROM unnest(ARRAY[${id}, ${saved.id}]) AS changed`
  return failure === null ? saved : new IncompleteGrantError(failure)
}

/** Display name of a token's owner: a key's name, or the subject of a user's JWT. */
async function ownerName({ db }: ReadCore, { workspace, subject }: ConsumedAuthorization): Promise<string> {
  const id = uuid.safeParse(subject)
  const key = id.success
    ? await db.apiKey.findFirst({
        where: { id: id.data, organizationId: workspace.organizationId },
        select: { name: true },
      })
    : null
  return key ? `the API key “${key.name}”` : `the user “${subject}”`
}
