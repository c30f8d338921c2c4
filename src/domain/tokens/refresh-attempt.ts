/**
 * One refresh: asks the provider, once, and writes down what came of it. Nobody can cut it short: the provider may have
 * used the refresh token up, and then its answer is all that is left.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import { type Core, transaction } from '../context.ts'
import { OAuthFailure, type ProviderAccess, type TokenSet } from '../providers/client.ts'
import { accessOf } from '../providers/find.ts'
import { hintOf } from '../providers/hint.ts'
import { sameOrigin } from '../providers/rules.ts'
import { grantedScopes } from './granted.ts'
import {
  endToken,
  type Lease,
  PATIENCE,
  postponeRefresh,
  returnLease,
  storeRefreshed,
  takeLease,
  tooLate,
} from './refresh-lease.ts'
import { queueRevocation } from './revocations.ts'
import { revokeNow } from './revoke.ts'
import type { StoredToken } from './stored.ts'
import { openToken, type TokenContent } from './token.ts'

/** ms between tries of writing down what came of it: doubles */
const FIRST_PAUSE = 200
const LONGEST_PAUSE = 5000
/** ms: a database that is away for longer finds what came of it lost */
const GIVE_UP = 600_000

/**
 * Begins a refresh, unless somebody else has, or it can't be now (`takeLease`); then `core.underWay` knows it by the
 * token's id. What came of it is in the row when it is over.
 */
export function beginRefresh(core: Core, seen: Pick<StoredToken, 'id' | 'version'>): Promise<void> {
  const refreshId = randomUUID()
  return new Promise((begun, failed) => {
    // from here on the server's stop waits for it: the lease of a server that is gone ends the token
    core.underWay.begin(refreshId, () => begin(core, seen, refreshId).then(begun, failed))
  })
}

async function begin(core: Core, seen: Pick<StoredToken, 'id' | 'version'>, refreshId: string): Promise<void> {
  let lease: Lease | null
  try {
    lease = await takeLease(core, seen, refreshId)
  } catch (error) {
    // the database may have written the lease all the same, and nobody would hold it
    const giveBack = () => returnLease(core, seen.id, refreshId)
    core.underWay.begin(refreshId, () => stubbornly(core, { oauthTokenId: seen.id }, giveBack))
    throw error
  }
  if (lease) core.underWay.begin(seen.id, () => refresh(core, lease))
}

interface Prepared {
  provider: OAuthProvider
  access: ProviderAccess
  content: TokenContent & { refreshToken: string }
}

async function refresh(core: Core, lease: Lease): Promise<void> {
  const write = await ask(core, lease)
  await stubbornly(core, { oauthTokenId: lease.token.id }, write)
}

/** How what came of it is written down. */
async function ask(core: Core, lease: Lease): Promise<() => Promise<unknown>> {
  const about = { oauthTokenId: lease.token.id, provider: lease.token.oauthProviderId }
  let prepared: Prepared | null
  try {
    prepared = await prepare(core, lease)
    if (tooLate(lease)) throw new Error('it took too long to get ready')
  } catch (error) {
    // of the database or the key ring, or they took their time: nothing was sent
    core.log.error({ ...about, err: error }, 'the refresh of a token could not begin')
    return () => postponeRefresh(core, lease, 'could not be asked')
  }
  if (!prepared) return () => endToken(core, lease, 'The provider’s address has changed since it was issued.')
  const { provider, access, content } = prepared
  const askedAt = performance.now()
  try {
    const set = await core.oauth.refresh(access, content.refreshToken, PATIENCE)
    return () => keep(core, lease, provider, content.refreshToken, set, askedAt)
  } catch (error) {
    // what is no failure that the client knows of may have happened at any point of the call
    const failure = error instanceof OAuthFailure ? error : new OAuthFailure('unanswered', 'could not be asked')
    const { kind, message } = failure
    const why = message + hintOf(failure.error)
    core.log.warn({ ...about, kind, error: why }, 'a token could not be refreshed')
    const because = finality(failure, lease.token)
    return () => (because === null ? postponeRefresh(core, lease, why) : endToken(core, lease, because))
  }
}

/** `before`: the refresh token that was used; `askedAt`: by the process's clock. */
async function keep(
  core: Core,
  lease: Lease,
  provider: OAuthProvider,
  before: string,
  { accessToken, tokenType, expiresIn, scopes, ...set }: TokenSet,
  askedAt: number,
): Promise<void> {
  // a provider that sends no new refresh token goes on taking the old one (RFC 6749, 6)
  const refreshToken = set.refreshToken ?? before
  const content = { accessToken, tokenType, refreshToken }
  const stored = await storeRefreshed(core, lease, {
    content,
    // counted from when it was asked for, so that it is never too late
    validFor: expiresIn === null ? null : expiresIn - (performance.now() - askedAt) / 1000,
    scopes: grantedScopes(lease.token.scopes, scopes),
    rotated: refreshToken !== before,
  })
  if (!stored) await revokeOrphan(core, lease, provider, content)
}

/** Null: whoever answers at the provider's address now is not who issued the token. */
async function prepare(core: Core, { token }: Lease): Promise<Prepared | null> {
  const provider = await core.db.oAuthProvider.findUniqueOrThrow({ where: { id: token.oauthProviderId } })
  if (!sameOrigin(provider.tokenUrl, token.tokenUrl)) return null
  const content = openToken(core.keyring, token)
  const { refreshToken } = content
  if (refreshToken === null) throw new Error('a token that counts as refreshable has no refresh token')
  return { provider, access: accessOf(core.keyring, provider), content: { ...content, refreshToken } }
}

/** Why nobody may try again; null: somebody may. */
function finality(failure: OAuthFailure, { rotates, refreshFailures }: StoredToken): string | null {
  if (failure.error === 'invalid_grant') {
    const usedUp = refreshFailures > 0 ? ', or was used up when a refresh last failed' : ''
    return `The provider takes its refresh token no more: access was withdrawn, or it was not used for too long${usedUp}.`
  }
  if (failure.kind === 'unanswered' && rotates !== false)
    return 'The provider gave no whole answer when it was being refreshed, and its refresh token may have been used up.'
  return null
}

/**
 * The token was deleted meanwhile: what the provider has just issued is revoked, too. If it was renewed, the old one is
 * just dropped.
 */
async function revokeOrphan(core: Core, { token }: Lease, provider: OAuthProvider, content: TokenContent) {
  const queued = await transaction(core, async (tx) => {
    const there = await tx.sql.oAuthToken.count({ where: { id: token.id } })
    return there === 0 ? queueRevocation(tx, core.keyring, provider, token, content) : null
  })
  if (queued) await revokeNow(core, queued)
}

/** The database may be away for a moment, and what is to be written can't be had again. */
async function stubbornly(core: Core, about: object, write: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + GIVE_UP
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      await write()
      return
    } catch (error) {
      core.log.error({ ...about, err: error }, 'what came of the refresh of a token could not be written down')
    }
    if (performance.now() > until) return
    await delay(pause)
  }
}
