/**
 * The lease of a token's refresh, in the token's row. It is taken and committed before the provider is asked, so that
 * only one server asks. Releasing it stores the outcome, once, and notifies those who wait for it.
 */
import { Prisma } from '../../../generated/prisma/client.ts'
import { type Core, OAUTH_CHANNEL, type Sql, transaction } from '../../transaction/context.ts'
import { sealToken, type TokenContent } from './token.ts'
import { SNAPSHOT_COLUMNS, type TokenSnapshot } from './token-snapshot.ts'

/** ms that the provider has for its answer */
export const REFRESH_TIMEOUT_MS = 30_000
/** seconds: the provider's time limit, and 10 s to prepare the request and to store the answer */
const LEASE_SECONDS = REFRESH_TIMEOUT_MS / 1000 + 10
/** ms from taking the lease to asking the provider, at most; later, the lease could run out before the answer */
const MAX_PREPARATION_MS = 8000
/** seconds; the back-off is 1, 2, 4 … */
const MAX_BACKOFF_SECONDS = 300

/**
 * Also undoes `endAbandoned`: a holder that was thought dead may come back with an outcome, while no other server has
 * taken its lease.
 */
const NOT_ENDED = Prisma.sql`ended_at = NULL, ended_because = NULL`

/** `refreshId` is the fencing token: only the holder of the lease can store an outcome. */
export interface RefreshLease {
  refreshId: string
  /** as it was when the lease was taken */
  token: TokenSnapshot
  /** just before it was taken, by the process's clock */
  takenAt: number
}

/** The provider's answer. */
export interface Refreshed {
  content: TokenContent
  /** seconds; null: not known */
  validForSeconds: number | null
  scopes: string[]
  rotated: boolean
}

/**
 * `refreshId`: a new one. Null: another server has the lease, or the token has changed since `known` was read, has ended,
 * or is in its back-off. An expired lease is taken over only if the provider does not rotate refresh tokens (see
 * `endAbandoned`).
 */
export async function takeRefreshLease(
  core: Core,
  known: Pick<TokenSnapshot, 'id' | 'version'>,
  refreshId: string,
): Promise<RefreshLease | null> {
  const askedAt = performance.now()
  const [token] = await core.db.$queryRaw<TokenSnapshot[]>`
    UPDATE oauth_tokens t
    SET refresh_id = ${refreshId}::uuid, refresh_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}::float8)
    WHERE t.id = ${known.id}::uuid AND t.version = ${known.version} AND t.refreshable AND t.ended_at IS NULL
      AND (t.refresh_id IS NULL OR (t.refresh_until <= clock_timestamp() AND t.rotates IS FALSE))
      AND (t.refresh_after IS NULL OR t.refresh_after <= clock_timestamp())
    RETURNING ${SNAPSHOT_COLUMNS}`
  return token ? { refreshId, token, takenAt: askedAt } : null
}

/** Whether it is too late to ask the provider: the lease could run out before it has answered. */
export function isTooLateToRequest({ takenAt: askedAt }: RefreshLease): boolean {
  return performance.now() - askedAt > MAX_PREPARATION_MS
}

/** Releases a lease without an outcome: nothing was sent. */
export async function releaseRefreshLease(core: Core, id: string, refreshId: string): Promise<void> {
  await storeOutcome(core, { refreshId, token: { id } }, NOT_ENDED)
}

/** Stores a successful refresh. False: the lease is lost, nothing was written. */
export function storeRefreshed(core: Core, lease: RefreshLease, got: Refreshed): Promise<boolean> {
  const sealed = sealToken(core.keyring, lease.token.id, got.content)
  return storeOutcome(
    core,
    lease,
    Prisma.sql`sealed = ${sealed}, refreshable = true, version = version + 1,
      expires_at = clock_timestamp() + make_interval(secs => ${got.validForSeconds}::float8),
      scopes = ${got.scopes}::text[], rotates = (rotates IS TRUE OR ${got.rotated}::boolean),
      refresh_failures = 0, refresh_error = NULL, refresh_after = NULL, ${NOT_ENDED},
      updated_at = clock_timestamp()`,
  )
}

/** Stores a failure after which it may be tried again. `why`: for people, a clause with "the provider" as its subject. */
export function postponeRefresh(core: Core, lease: RefreshLease, why: string): Promise<boolean> {
  return storeOutcome(
    core,
    lease,
    Prisma.sql`refresh_failures = refresh_failures + 1, refresh_error = ${why}, ${NOT_ENDED},
      refresh_after = clock_timestamp() + make_interval(secs => least(${MAX_BACKOFF_SECONDS}::float8, 2 ^ least(refresh_failures, 20)))`,
  )
}

/** Ends the token: it can't be refreshed any more. `because`: for people, a sentence. */
export function endToken(core: Core, { refreshId, token }: RefreshLease, because: string): Promise<boolean> {
  return end(core, token, because, (sql, ended) =>
    update(
      sql,
      Prisma.sql`${ended}, refresh_id = NULL, refresh_until = NULL`,
      Prisma.sql`id = ${token.id}::uuid AND refresh_id = ${refreshId}::uuid AND ended_at IS NULL`,
    ),
  )
}

/**
 * Ends a token whose lease has run out without an outcome, most likely because its server died. The refresh token may
 * have been used up, and a provider that rotates them takes a second use for theft and revokes the whole grant.
 */
export function endAbandonedToken(core: Core, token: TokenSnapshot): Promise<boolean> {
  return end(
    core,
    token,
    'A server stopped while it was being refreshed, and nobody knows what the provider did.',
    (sql, ended) =>
      update(
        sql,
        ended,
        Prisma.sql`id = ${token.id}::uuid AND version = ${token.version} AND ended_at IS NULL
        AND refresh_id IS NOT NULL AND refresh_until <= clock_timestamp() AND rotates IS NOT FALSE`,
      ),
  )
}

function end(
  core: Core,
  token: TokenSnapshot,
  because: string,
  write: (sql: Sql, ended: Prisma.Sql) => Promise<boolean>,
): Promise<boolean> {
  return transaction(core, async (tx) => {
    const ended = Prisma.sql`ended_at = clock_timestamp(), ended_because = ${because}, updated_at = clock_timestamp()`
    const written = await write(tx.sql, ended)
    if (written) tx.emit({ workspaceId: token.workspaceId, type: 'oauth_token.expired', subjectId: token.id })
    return written
  })
}

type LeaseRef = Pick<RefreshLease, 'refreshId'> & { token: Pick<TokenSnapshot, 'id'> }

/** Stores the outcome and releases the lease. False: the lease is lost. */
function storeOutcome(core: Core, { refreshId, token }: LeaseRef, set: Prisma.Sql): Promise<boolean> {
  return update(
    core.db,
    Prisma.sql`${set}, refresh_id = NULL, refresh_until = NULL`,
    Prisma.sql`id = ${token.id}::uuid AND refresh_id = ${refreshId}::uuid`,
  )
}

async function update(sql: Sql, set: Prisma.Sql, where: Prisma.Sql): Promise<boolean> {
  const written = await sql.$queryRaw<unknown[]>`
    WITH written AS (UPDATE oauth_tokens SET ${set} WHERE ${where} RETURNING id)
    SELECT pg_notify(${OAUTH_CHANNEL}, id::text)::text FROM written`
  return written.length > 0
}
