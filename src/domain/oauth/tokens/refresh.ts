/** Single-flight refresh across all servers: one sends the request, all callers read the outcome (../README.md). */
import { randomUUID } from 'node:crypto'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { longPoll } from '../../../platform/async/long-poll.ts'
import { backoff, retry } from '../../../platform/async/retry.ts'
import { resultWithin, withTimeout } from '../../../platform/async/time-limit.ts'
import { OutboundFailure } from '../../../platform/http/outbound-failure.ts'
import { DomainError } from '../../errors/errors.ts'
import { OAuthProviderUnavailableError, type ProviderAccess } from '../../ports/oauth-client.ts'
import { type Core, type ReadCore, type RequestContext, transaction } from '../../transaction/context.ts'
import { adminHint, openProviderAccess, sameOrigin } from './provider-access.ts'
import {
  endAbandonedToken,
  findExpiring,
  type KnownToken,
  REFRESH_TIMEOUT_MS,
  type RefreshLease,
  type RefreshResult,
  readSnapshot,
  releaseRefreshLease,
  storeResult,
  type TokenSnapshot,
  takeRefreshLease,
} from './refresh-state.ts'
import { queueRevocation, revokeNow } from './revoke.ts'
import { grantedScopes, openToken, refreshFailureClause, type TokenContent } from './token.ts'

/** Longest wait for a refresh. Longer than the provider's timeout. */
const MAX_WAIT_SECONDS = 45
/** Longest wait while the current access token stays valid for more than twice this time. */
const SHORT_WAIT_SECONDS = 5
/** Longest time from taking the lease to the request. Later, the lease could expire before the response. */
const MAX_PREPARATION_MS = 8000
const FIRST_RETRY_DELAY_MS = 200
const MAX_RETRY_DELAY_MS = 5000
/** If the database is unavailable for longer, the outcome is lost. */
const STORE_TIMEOUT_MS = 600_000
/** Concurrent refreshes of the job. */
const CONCURRENCY = 4

/** `as read`: use the token. `changed`: read it again first, because the call has waited. `ended`: unusable or deleted. */
export type Freshness = 'as read' | 'changed' | 'ended'

/** A failure: the provider refused or failed, or the backoff is not over. `stopping`: this server starts no refresh. */
type Outcome = Exclude<Freshness, 'as read'> | OutboundFailure | 'stopping'

/**
 * Refreshes an access token that has expired, or soon will, before it is issued. `provider`: its name. A started refresh continues
 * after the call. Throws OAuthProviderUnavailableError; UNAVAILABLE when the server is stopping.
 */
export async function ensureFresh(
  ctx: Core & Pick<RequestContext, 'client'>,
  provider: string,
  token: TokenSnapshot,
): Promise<Freshness> {
  const { id, validForSeconds, refreshable } = token
  if (validForSeconds === null || !token.expiring || !refreshable) return 'as read'
  const seconds = validForSeconds > 2 * SHORT_WAIT_SECONDS ? SHORT_WAIT_SECONDS : MAX_WAIT_SECONDS
  const began = performance.now()
  const outcome = await withTimeout(seconds * 1000, ctx.client?.gone, (over) =>
    longPoll(ctx.notifier, id, seconds, over, () => refreshOrJoin(ctx, token, over)),
  )
  if (outcome === 'changed' || outcome === 'ended') return outcome
  // the current access token is still valid, so a failing provider does not matter to the caller yet
  if (validForSeconds - (performance.now() - began) / 1000 > 0) return 'changed'
  if (outcome === 'stopping') throw new DomainError('UNAVAILABLE', 'This server is stopping. Try again.')
  const noAnswer = 'was asked to refresh the token and has not answered yet'
  throw new OAuthProviderUnavailableError(provider, outcome ?? new OutboundFailure('unanswered', noAnswer))
}

/** Starts the refresh or joins this server's running one. `stale`: the token as it was read. Null: no outcome yet. */
async function refreshOrJoin(core: Core, stale: TokenSnapshot, over: AbortSignal): Promise<Outcome | null> {
  const token = await readSnapshot(core, stale.id)
  const known = outcomeOf(token, stale)
  if (known) return known
  const { state, rotates } = token!
  // Even with an expired lease, this server is about to store the outcome.
  const running = core.inFlight.pending(stale.id)
  if (!running) {
    if (state === 'refreshing') return null
    if (state === 'abandoned' && rotates !== false) return (await endAbandonedToken(core, token!)) ? 'ended' : null
    if (core.inFlight.closed) return 'stopping'
  }
  await resultWithin(MAX_WAIT_SECONDS * 1000, running ?? refresh(core, token!), over)
  return over.aborted ? null : outcomeOf(await readSnapshot(core, stale.id), stale)
}

function outcomeOf(token: TokenSnapshot | null, stale: TokenSnapshot): Outcome | null {
  if (!token || token.state === 'ended') return 'ended'
  if (token.version > stale.version) return 'changed'
  // a failure is always stored with its reason
  if (token.state === 'backing off' || token.refreshFailures > stale.refreshFailures)
    return new OutboundFailure('unusable', refreshFailureClause(token.refreshError!))
  return null
}

/**
 * One round of the job that refreshes tokens before they expire, so agents do not wait. Safe on several servers, because the lease
 * decides. Starts nothing new after `signal` aborts.
 */
export async function refreshExpiring(core: Core, signal: AbortSignal): Promise<void> {
  const due = await findExpiring(core)
  const work = async () => {
    for (let next = due.shift(); next && !signal.aborted && !core.inFlight.closed; next = due.shift())
      await resultWithin(MAX_WAIT_SECONDS * 1000, core.inFlight.pending(next.id) ?? refresh(core, next), signal)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}

/**
 * Refreshes the token if this server gets the lease. It can't be cancelled (../README.md). `core.inFlight` holds it under the
 * token's id until the outcome is stored. Rejects if the database fails before the request.
 */
export function refresh(core: Core, known: KnownToken): Promise<void> {
  const running = leaseAndRefresh(core, known)
  // Registered before the lease is taken, so a stopping server waits for it: an abandoned lease ends the token.
  core.inFlight.begin(known.id, () => running)
  return running
}

async function leaseAndRefresh(core: Core, known: KnownToken): Promise<void> {
  const refreshId = randomUUID()
  const takenAt = performance.now()
  const lease = await takeRefreshLease(core, known, refreshId).catch((error) => {
    // The database may have stored the lease despite the error, and then no refresh would use it.
    const release = () => releaseRefreshLease(core, known.id, refreshId)
    core.inFlight.begin(refreshId, () => withRetries(core, known, release))
    throw error
  })
  if (!lease) return
  const prepared = await prepare(core, lease, takenAt)
  const result = 'kind' in prepared ? prepared : await request(core, lease, prepared)
  await withRetries(core, known, async () => {
    const stored = await storeResult(core, lease, result)
    if (!stored && 'provider' in prepared && result.kind === 'refreshed')
      await revokeOrphan(core, lease, prepared.provider, result.content)
  })
}

interface PreparedRefresh {
  provider: OAuthProvider
  access: ProviderAccess
  refreshToken: string
}

/** Returns a result if nothing can be sent: the database or the key ring failed or was too slow, or the provider moved. */
async function prepare(
  core: ReadCore,
  { token }: RefreshLease,
  takenAt: number,
): Promise<PreparedRefresh | RefreshResult> {
  try {
    const provider = await core.db.oAuthProvider.findUniqueOrThrow({ where: { id: token.oauthProviderId } })
    if (!sameOrigin(provider.tokenUrl, token.tokenUrl))
      return { kind: 'ended', because: 'The provider’s address has changed since it was issued.' }
    const access = openProviderAccess(core.keyring, provider)
    const { refreshToken } = openToken(core.keyring, token)
    if (refreshToken === null) throw new Error('a token that counts as refreshable has no refresh token')
    if (performance.now() - takenAt > MAX_PREPARATION_MS) throw new Error('preparing the refresh took too long')
    return { provider, access, refreshToken }
  } catch (error) {
    core.log.error({ ...about(token), err: error }, 'could not start the refresh of a token')
    return { kind: 'failed', why: 'could not be asked' }
  }
}

async function request(
  core: Core,
  { token }: RefreshLease,
  { access, refreshToken: sent }: PreparedRefresh,
): Promise<RefreshResult> {
  const requestedAt = performance.now()
  try {
    const { accessToken, tokenType, expiresIn, ...set } = await core.oauth.refresh(access, sent, REFRESH_TIMEOUT_MS)
    // without a new refresh token the old one stays valid (RFC 6749, 6)
    const refreshToken = set.refreshToken ?? sent
    const content = { accessToken, tokenType, refreshToken }
    const scopes = grantedScopes(token.scopes, set.scopes)
    return { kind: 'refreshed', content, scopes, rotated: refreshToken !== sent, expiresIn, requestedAt }
  } catch (error) {
    // an unexpected error may have happened at any point of the call
    const failure = error instanceof OutboundFailure ? error : new OutboundFailure('unanswered', 'could not be asked')
    const { kind, message } = failure
    const why = message + adminHint(failure.error)
    core.log.warn({ ...about(token), kind, error: why }, 'a token could not be refreshed')
    const because = finalReason(failure, token)
    return because === null ? { kind: 'failed', why } : { kind: 'ended', because }
  }
}

const about = (token: TokenSnapshot) => ({ oauthTokenId: token.id, provider: token.oauthProviderId })

/** Sentence on why the token can't be refreshed again; null: a later refresh may succeed. */
function finalReason(failure: OutboundFailure, { rotates, refreshFailures }: TokenSnapshot): string | null {
  if (failure.error === 'invalid_grant') {
    const usedUp = refreshFailures > 0 ? ', or a failed refresh used it up' : ''
    return `The provider rejected the refresh token: access was withdrawn, or the token was unused for too long${usedUp}.`
  }
  if (failure.kind === 'unanswered' && rotates !== false)
    return 'The provider sent no complete response to a refresh, and the refresh token may have been used up.'
  return null
}

/** The lease is lost. If the token was deleted, revokes what the provider just issued. */
async function revokeOrphan(core: Core, { token }: RefreshLease, provider: OAuthProvider, content: TokenContent) {
  const queued = await transaction(core, async (tx) => {
    const there = await tx.sql.oAuthToken.count({ where: { id: token.id } })
    return there === 0 ? queueRevocation(tx, core.keyring, provider, token, content) : null
  })
  if (queued) await revokeNow(core, queued)
}

/** Repeats `write` until it succeeds or STORE_TIMEOUT_MS is over: the outcome can't be obtained a second time. */
async function withRetries(core: ReadCore, { id }: KnownToken, write: () => Promise<unknown>): Promise<void> {
  const failed = (error: unknown) => {
    core.log.error({ oauthTokenId: id, err: error }, 'could not store the outcome of a token refresh; it is retried')
    return true
  }
  const pause = (retries: number) => backoff(retries, FIRST_RETRY_DELAY_MS, MAX_RETRY_DELAY_MS)
  await retry(write, { withinMs: STORE_TIMEOUT_MS, when: failed, pause }).catch(() => undefined)
}
