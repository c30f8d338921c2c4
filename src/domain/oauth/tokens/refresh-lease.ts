/** The lease of a token's refresh, stored in the token's row and committed before the request (../README.md). */
import { Prisma } from '../../../generated/prisma/client.ts'
import { type Core, OAUTH_CHANNEL, type Sql, transaction } from '../../transaction/context.ts'
import { sealToken, type TokenContent } from './token.ts'
import { SNAPSHOT_COLUMNS, type TokenSnapshot } from './token-snapshot.ts'

export const REFRESH_TIMEOUT_MS = 30_000
/** The provider's timeout, and 10 s to prepare the request and to store the response. */
const LEASE_SECONDS = REFRESH_TIMEOUT_MS / 1000 + 10
/** Longest time from taking the lease to the request. Later, the lease could expire before the response. */
const MAX_PREPARATION_MS = 8000
/** The backoff is 1, 2, 4 … seconds. */
const MAX_BACKOFF_SECONDS = 300

/** Also undoes `endAbandonedToken`: a server that seemed dead may return with an outcome while no other server took its lease. */
const NOT_ENDED = Prisma.sql`ended_at = NULL, ended_because = NULL`

/** `refreshId` is the fencing token: only the lease holder can store an outcome. */
export interface RefreshLease {
  refreshId: string
  token: TokenSnapshot
  /** just before the lease was taken, from the process's clock */
  takenAt: number
}

export interface Refreshed {
  content: TokenContent
  /** null: unknown */
  validForSeconds: number | null
  scopes: string[]
  rotated: boolean
}

/**
 * Null: another server holds the lease, or the token ended, backs off or changed since `known` was read. An expired lease is
 * taken over only without rotation.
 */
export async function takeRefreshLease(
  core: Core,
  known: Pick<TokenSnapshot, 'id' | 'version'>,
  refreshId: string,
): Promise<RefreshLease | null> {
  const takenAt = performance.now()
  const [token] = await core.db.$queryRaw<TokenSnapshot[]>`
    UPDATE oauth_tokens t
    SET refresh_id = ${refreshId}::uuid, refresh_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}::float8)
    WHERE t.id = ${known.id}::uuid AND t.version = ${known.version} AND t.refreshable AND t.ended_at IS NULL
      AND (t.refresh_id IS NULL OR (t.refresh_until <= clock_timestamp() AND t.rotates IS FALSE))
      AND (t.refresh_after IS NULL OR t.refresh_after <= clock_timestamp())
    RETURNING ${SNAPSHOT_COLUMNS}`
  return token ? { refreshId, token, takenAt } : null
}

/** After this, the lease could expire before the provider responds. */
export function isTooLateToRequest({ takenAt }: RefreshLease): boolean {
  return performance.now() - takenAt > MAX_PREPARATION_MS
}

/** Releases a lease without an outcome, because nothing was sent. */
export async function releaseRefreshLease(core: Core, id: string, refreshId: string): Promise<void> {
  await storeOutcome(core, { refreshId, token: { id } }, NOT_ENDED)
}

/** Stores a successful refresh. False: the lease is lost and nothing was written. */
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

/** Stores a failure that may be retried. `why`: a clause with "the provider" as its subject. */
export function postponeRefresh(core: Core, lease: RefreshLease, why: string): Promise<boolean> {
  return storeOutcome(
    core,
    lease,
    Prisma.sql`refresh_failures = refresh_failures + 1, refresh_error = ${why}, ${NOT_ENDED},
      refresh_after = clock_timestamp() + make_interval(secs => least(${MAX_BACKOFF_SECONDS}::float8, 2 ^ least(refresh_failures, 20)))`,
  )
}

/** Ends the token, because it can't be refreshed again. `because`: a sentence for its owner. */
export function endToken(core: Core, { refreshId, token }: RefreshLease, because: string): Promise<boolean> {
  return end(core, token, because, (sql, ended) =>
    update(
      sql,
      Prisma.sql`${ended}, refresh_id = NULL, refresh_until = NULL`,
      Prisma.sql`id = ${token.id}::uuid AND refresh_id = ${refreshId}::uuid AND ended_at IS NULL`,
    ),
  )
}

/** Ends a token whose lease expired without an outcome: a second use of its refresh token would count as theft (../README.md). */
export function endAbandonedToken(core: Core, token: TokenSnapshot): Promise<boolean> {
  return end(
    core,
    token,
    'A server stopped during a refresh, and the refresh token may have been used up.',
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
