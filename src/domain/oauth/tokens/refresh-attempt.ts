/** Runs one refresh: sends one request to the provider and stores the outcome. It can't be cancelled (../README.md). */
import { randomUUID } from 'node:crypto'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { backoff, retry } from '../../../platform/async/retry.ts'
import { OAuthFailure, type ProviderAccess, type TokenSet } from '../../ports/oauth-client.ts'
import { type Core, transaction } from '../../transaction/context.ts'
import { adminHint, openProviderAccess, sameOrigin } from '../provider-access/access.ts'
import {
  endToken,
  isTooLateToRequest,
  postponeRefresh,
  REFRESH_TIMEOUT_MS,
  type RefreshLease,
  releaseRefreshLease,
  storeRefreshed,
  takeRefreshLease,
} from './refresh-lease.ts'
import { queueRevocation } from './revocation-queue.ts'
import { revokeNow } from './revoke.ts'
import { openToken, type TokenContent } from './token.ts'
import { grantedScopes } from './token-response.ts'
import type { TokenSnapshot } from './token-snapshot.ts'

const FIRST_RETRY_DELAY_MS = 200
const MAX_RETRY_DELAY_MS = 5000
/** If the database is unavailable for longer, the outcome is lost. */
const STORE_TIMEOUT_MS = 600_000

/** Starts a refresh if `takeRefreshLease` succeeds. `core.inFlight` holds it under the token's id until the outcome is stored. */
export function beginRefresh(core: Core, known: Pick<TokenSnapshot, 'id' | 'version'>): Promise<void> {
  const refreshId = randomUUID()
  return new Promise((begun, failed) => {
    // Registered before the lease is taken, so a stopping server waits for it: an abandoned lease ends the token.
    core.inFlight.begin(refreshId, () => leaseAndRefresh(core, known, refreshId).then(begun, failed))
  })
}

async function leaseAndRefresh(
  core: Core,
  known: Pick<TokenSnapshot, 'id' | 'version'>,
  refreshId: string,
): Promise<void> {
  let lease: RefreshLease | null
  try {
    lease = await takeRefreshLease(core, known, refreshId)
  } catch (error) {
    // The database may have stored the lease despite the error, and then no refresh would use it.
    const release = () => releaseRefreshLease(core, known.id, refreshId)
    core.inFlight.begin(refreshId, () => withRetries(core, { oauthTokenId: known.id }, release))
    throw error
  }
  if (lease) core.inFlight.begin(known.id, () => refresh(core, lease))
}

interface PreparedRefresh {
  provider: OAuthProvider
  access: ProviderAccess
  content: TokenContent & { refreshToken: string }
}

async function refresh(core: Core, lease: RefreshLease): Promise<void> {
  const write = await requestRefresh(core, lease)
  await withRetries(core, { oauthTokenId: lease.token.id }, write)
}

/** Sends the request. Returns the function that stores the outcome. */
async function requestRefresh(core: Core, lease: RefreshLease): Promise<() => Promise<unknown>> {
  const about = { oauthTokenId: lease.token.id, provider: lease.token.oauthProviderId }
  let prepared: PreparedRefresh | null
  try {
    prepared = await prepare(core, lease)
    if (isTooLateToRequest(lease)) throw new Error('preparing the refresh took too long')
  } catch (error) {
    // Nothing was sent: the database or the key ring failed or was too slow.
    core.log.error({ ...about, err: error }, 'could not start the refresh of a token')
    return () => postponeRefresh(core, lease, 'could not be asked')
  }
  if (!prepared) return () => endToken(core, lease, 'The provider’s address has changed since it was issued.')
  const { provider, access, content } = prepared
  const requestedAt = performance.now()
  try {
    const set = await core.oauth.refresh(access, content.refreshToken, REFRESH_TIMEOUT_MS)
    return () => store(core, lease, provider, content.refreshToken, set, requestedAt)
  } catch (error) {
    // an unexpected error may have happened at any point of the call
    const failure = error instanceof OAuthFailure ? error : new OAuthFailure('unanswered', 'could not be asked')
    const { kind, message } = failure
    const why = message + adminHint(failure.error)
    core.log.warn({ ...about, kind, error: why }, 'a token could not be refreshed')
    const because = finalReason(failure, lease.token)
    return () => (because === null ? postponeRefresh(core, lease, why) : endToken(core, lease, because))
  }
}

/** `before`: the refresh token that was sent. `requestedAt`: from the process's clock. */
async function store(
  core: Core,
  lease: RefreshLease,
  provider: OAuthProvider,
  before: string,
  { accessToken, tokenType, expiresIn, scopes, ...set }: TokenSet,
  requestedAt: number,
): Promise<void> {
  // without a new refresh token the old one stays valid (RFC 6749, 6)
  const refreshToken = set.refreshToken ?? before
  const content = { accessToken, tokenType, refreshToken }
  const stored = await storeRefreshed(core, lease, {
    content,
    // counted from the start of the request, so it is never later than the real expiry
    validForSeconds: expiresIn === null ? null : expiresIn - (performance.now() - requestedAt) / 1000,
    scopes: grantedScopes(lease.token.scopes, scopes),
    rotated: refreshToken !== before,
  })
  if (!stored) await revokeOrphan(core, lease, provider, content)
}

/** Null: the provider moved to another origin, so it may no longer be the token's issuer. */
async function prepare(core: Core, { token }: RefreshLease): Promise<PreparedRefresh | null> {
  const provider = await core.db.oAuthProvider.findUniqueOrThrow({ where: { id: token.oauthProviderId } })
  if (!sameOrigin(provider.tokenUrl, token.tokenUrl)) return null
  const content = openToken(core.keyring, token)
  const { refreshToken } = content
  if (refreshToken === null) throw new Error('a token that counts as refreshable has no refresh token')
  return { provider, access: openProviderAccess(core.keyring, provider), content: { ...content, refreshToken } }
}

/** Sentence on why the token can't be refreshed again; null: a later refresh may succeed. */
function finalReason(failure: OAuthFailure, { rotates, refreshFailures }: TokenSnapshot): string | null {
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
async function withRetries(core: Core, about: object, write: () => Promise<unknown>): Promise<void> {
  const failed = (error: unknown) => {
    core.log.error({ ...about, err: error }, 'could not store the outcome of a token refresh; it is retried')
    return true
  }
  const pause = (retries: number) => backoff(retries, FIRST_RETRY_DELAY_MS, MAX_RETRY_DELAY_MS)
  await retry(write, { withinMs: STORE_TIMEOUT_MS, when: failed, pause }).catch(() => undefined)
}
