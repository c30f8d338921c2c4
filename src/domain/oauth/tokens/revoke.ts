/**
 * The queue of token revocations (RFC 7009). A row contains all data, because token and provider may be deleted by then. The call
 * tries first, then the job, for a day. A second revocation is harmless.
 */
import { randomUUID } from 'node:crypto'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import { clauseOf } from '../../../platform/http/outbound-failure.ts'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { KeyRing } from '../../crypto/keyring.ts'
import type { ProviderAccess } from '../../ports/oauth-client.ts'
import { toDeleteOrSkip } from '../../repositories/locks.ts'
import type { Core, ReadCore, Tx } from '../../transaction/context.ts'
import { openProviderAccess, sameOrigin } from './provider-access.ts'
import type { TokenContent } from './token.ts'

/** Longer than any call waits for a provider. */
const LEASE_SECONDS = 60
const CALLER_TIMEOUT_MS = 5000
const JOB_TIMEOUT_MS = 30_000
const JOB_CONCURRENCY = 8
const FIRST_RETRY_SECONDS = 10
const MAX_RETRY_SECONDS = 3600
const GIVE_UP_HOURS = 24

/** A leased row of `token_revocations`. `tries` is the fencing token: each lease increments it. */
export interface Revocation {
  id: string
  sealed: string
  tries: number
}

interface RevocationContent {
  access: ProviderAccess
  /** null: the provider's metadata was not read yet */
  revocationUrl: string | null
  accessToken: string
  refreshToken: string | null
  /** for the log: the provider's `provider_id` and the former id of the token */
  providerId: string
  tokenId: string
}

const sealContext = (id: string) => `token_revocations.sealed:${id}`

/**
 * The caller holds the first lease: it calls `revokeNow` after the commit, or leaves the row to the job. Null: the provider has
 * no revocation endpoint, or moved to another origin than the token's issuer.
 */
export async function queueRevocation(
  tx: Pick<Tx, 'sql'>,
  keyring: KeyRing,
  provider: OAuthProvider,
  token: { id: string; tokenUrl: string },
  content: TokenContent,
): Promise<Revocation | null> {
  if (!sameOrigin(provider.tokenUrl, token.tokenUrl)) return null
  if (provider.metadataReadAt && !provider.revocationUrl) return null
  const id = randomUUID()
  const revocation: RevocationContent = {
    access: openProviderAccess(keyring, provider),
    revocationUrl: provider.metadataReadAt ? provider.revocationUrl : null,
    accessToken: content.accessToken,
    refreshToken: content.refreshToken,
    providerId: provider.providerId,
    tokenId: token.id,
  }
  const sealed = seal(keyring, sealContext(id), JSON.stringify(revocation))
  await tx.sql.$executeRaw`
    INSERT INTO token_revocations (id, sealed, tries, not_before)
    VALUES (${id}::uuid, ${sealed}, 1, clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}))`
  return { id, sealed, tries: 1 }
}

/** Revokes within 5 s. Throws nothing: the job repeats a failed revocation. */
export async function revokeNow(core: Core, revocation: Revocation): Promise<void> {
  await attempt(core, revocation, CALLER_TIMEOUT_MS).catch((error) => {
    core.log.error({ err: error }, 'could not store the result of a revocation; the job repeats it')
  })
}

/** Runs one round of the job: all due revocations. Safe on several servers. */
export async function revokeDue(core: Core, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const due = await leaseDue(core)
    if (due.length === 0) return
    await Promise.all(due.map((revocation) => attempt(core, revocation, JOB_TIMEOUT_MS, signal)))
  }
}

/** `not_before` is compared in whole milliseconds, the precision of the column, so a new row is due immediately. */
function leaseDue(core: ReadCore): Promise<Revocation[]> {
  return core.db.$queryRaw`
    UPDATE token_revocations SET tries = tries + 1, not_before = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    WHERE id IN (
      SELECT id FROM token_revocations WHERE not_before <= clock_timestamp()::timestamptz(3)
      ORDER BY not_before LIMIT ${JOB_CONCURRENCY} ${toDeleteOrSkip('token_revocations')})
    RETURNING id, sealed, tries`
}

async function attempt(core: Core, revocation: Revocation, timeout: number, stop?: AbortSignal): Promise<void> {
  const { id } = revocation
  let content: RevocationContent | undefined
  let failure: string
  try {
    content = JSON.parse(unseal(core.keyring, sealContext(id), revocation.sealed)) as RevocationContent
    const revoked = revokeAtProvider(core, content).then(() => true)
    if (await resultWithin(timeout, revoked, stop)) {
      await core.db.tokenRevocation.deleteMany({ where: { id, tries: revocation.tries } })
      return
    }
    if (stop?.aborted) return await releaseRevocations(core, [revocation])
    failure = 'did not answer in time'
  } catch (error) {
    failure = clauseOf(error)
  }
  if (await postpone(core, revocation)) {
    const about = { provider: content?.providerId, oauthTokenId: content?.tokenId, failure }
    core.log.warn(about, `a deleted token was not revoked: its provider was unavailable for ${GIVE_UP_HOURS} hours`)
  }
}

/** Does nothing if the provider has no revocation endpoint. Throws OutboundFailure. */
async function revokeAtProvider({ oauth }: Core, content: RevocationContent): Promise<void> {
  const { access, accessToken, refreshToken } = content
  const url = content.revocationUrl ?? (await oauth.published(access)).revocationUrl
  if (!url) return
  // The refresh token first: most providers end the whole grant with it.
  if (refreshToken) await oauth.revoke(access, url, { value: refreshToken, hint: 'refresh_token' })
  await oauth.revoke(access, url, { value: accessToken, hint: 'access_token' })
}

/** Releases leases, so the next round of any server takes these rows. */
export async function releaseRevocations({ db }: ReadCore, leased: readonly Revocation[]): Promise<void> {
  const [ids, tries] = [leased.map(({ id }) => id), leased.map((one) => one.tries)]
  await db.$executeRaw`
    UPDATE token_revocations r SET not_before = clock_timestamp()
    FROM unnest(${ids}::uuid[], ${tries}::int[]) AS leased (id, tries) WHERE r.id = leased.id AND r.tries = leased.tries`
}

/** Schedules the next attempt. True: the revocation was given up instead. */
async function postpone({ db }: ReadCore, { id, tries }: Revocation): Promise<boolean> {
  const dropped = await db.$executeRaw`
    DELETE FROM token_revocations WHERE id = ${id}::uuid AND tries = ${tries}
      AND created_at < clock_timestamp() - make_interval(hours => ${GIVE_UP_HOURS}::int)`
  if (dropped > 0) return true
  await db.$executeRaw`
    UPDATE token_revocations SET not_before = clock_timestamp()
      + make_interval(secs => least(${MAX_RETRY_SECONDS}::float8, ${FIRST_RETRY_SECONDS}::float8 * 2 ^ least(${tries}::int - 1, 20)))
    WHERE id = ${id}::uuid AND tries = ${tries}`
  return false
}
