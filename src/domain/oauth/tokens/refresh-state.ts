/** The refresh state of a token: the lease and the last outcome, in columns of its row, by the database's clock (../README.md). */
import { type OAuthToken, Prisma } from '../../../generated/prisma/client.ts'
import { OAUTH_CHANNEL, type ReadCore, type Sql, transaction, type WriteCore } from '../../transaction/context.ts'
import { sealToken, type TokenContent } from './token.ts'

export const REFRESH_TIMEOUT_MS = 30_000
/** The provider's timeout, and 10 s to prepare the request and to store the response. */
const LEASE_SECONDS = REFRESH_TIMEOUT_MS / 1000 + 10
/** The backoff is 1, 2, 4 … seconds. */
const MAX_BACKOFF_SECONDS = 300

const REFRESH_AHEAD_SECONDS = 300
/** Tokens unused for longer wait for an agent's request. */
const IN_USE_HOURS = 24
const BATCH_ROWS = 50

/**
 * A token at one moment. Decides whether it is issued, refreshed or waited for. `refreshError`: why the last refresh failed, a
 * clause with "the provider" as its subject.
 */
export type TokenSnapshot = Pick<OAuthToken, SnapshotColumn> & {
  /** until the access token expires; negative afterwards; null: unknown */
  validForSeconds: number | null
  /** expired or in its last minute; for a short-lived token, in the second half of its lifetime */
  expiring: boolean
  /** `refreshing`: a server holds the lease. `abandoned`: the lease expired without an outcome. */
  state: 'idle' | 'refreshing' | 'abandoned' | 'backing off' | 'ended'
  /** the last use was recorded more than a minute ago, or never */
  useOutdated: boolean
}

type SnapshotColumn =
  | (
      | 'id'
      | 'workspaceId'
      | 'oauthProviderId'
      | 'subject'
      | 'accountLabel'
      | 'label'
      | 'isDefault'
      | 'scopes'
      | 'sealed'
    )
  | (
      | 'refreshable'
      | 'tokenUrl'
      | 'expiresAt'
      | 'endedBecause'
      | 'version'
      | 'rotates'
      | 'refreshFailures'
      | 'refreshError'
    )

/** Whether `oauth_tokens t` expires within `seconds`, or within half of its lifetime if that is shorter; null: unknown. */
const expiresWithin = (seconds: number) => Prisma.sql`
  t.expires_at <= clock_timestamp() + greatest(interval '0',
    least(make_interval(secs => ${seconds}::float8), (t.expires_at - t.updated_at) / 2))`

/** Columns of a TokenSnapshot, from `oauth_tokens t`. */
export const SNAPSHOT_COLUMNS = Prisma.sql`
  t.id, t.workspace_id AS "workspaceId", t.oauth_provider_id AS "oauthProviderId", t.subject,
  t.account_label AS "accountLabel", t.label, t.is_default AS "isDefault", t.scopes, t.sealed, t.refreshable,
  t.token_url AS "tokenUrl", t.expires_at AS "expiresAt",
  extract(epoch FROM t.expires_at - clock_timestamp())::float8 AS "validForSeconds",
  coalesce(${expiresWithin(60)}, false) AS expiring, t.ended_because AS "endedBecause", t.version, t.rotates,
  t.refresh_failures AS "refreshFailures", t.refresh_error AS "refreshError",
  CASE WHEN t.ended_at IS NOT NULL THEN 'ended' WHEN t.refresh_after > clock_timestamp() THEN 'backing off'
       WHEN t.refresh_id IS NULL THEN 'idle' WHEN t.refresh_until > clock_timestamp() THEN 'refreshing' ELSE 'abandoned' END AS state,
  (t.used_at IS NULL OR t.used_at < clock_timestamp() - interval '1 minute') AS "useOutdated"`

export async function readSnapshot(core: ReadCore, id: string): Promise<TokenSnapshot | null> {
  const [token] = await core.db.$queryRaw<
    TokenSnapshot[]
  >`SELECT ${SNAPSHOT_COLUMNS} FROM oauth_tokens t WHERE t.id = ${id}::uuid`
  return token ?? null
}

/** Whether the lease of `oauth_tokens t` may be taken. An expired lease is taken over only without rotation. */
const LEASABLE = Prisma.sql`t.refreshable AND t.ended_at IS NULL
  AND (t.refresh_id IS NULL OR (t.refresh_until <= clock_timestamp() AND t.rotates IS FALSE))
  AND (t.refresh_after IS NULL OR t.refresh_after <= clock_timestamp())`

/** Tokens that agents use and that expire soon, those that expire first first. */
export function findExpiring(core: ReadCore): Promise<KnownToken[]> {
  return core.db.$queryRaw`
    SELECT t.id, t.version FROM oauth_tokens t
    WHERE ${LEASABLE} AND t.expires_at <= clock_timestamp() + make_interval(secs => ${REFRESH_AHEAD_SECONDS}::float8)
      AND ${expiresWithin(REFRESH_AHEAD_SECONDS)} AND t.used_at > clock_timestamp() - make_interval(hours => ${IN_USE_HOURS}::int)
      AND EXISTS (SELECT 1 FROM agent_connections c WHERE c.token_id = t.id)
    ORDER BY t.expires_at LIMIT ${BATCH_ROWS}::int`
}

export type KnownToken = Pick<TokenSnapshot, 'id' | 'version'>

/** `refreshId` is the fencing token: only the lease holder can store an outcome. */
export interface RefreshLease {
  refreshId: string
  token: TokenSnapshot
}

/** Null: another server holds the lease, or the token ended, backs off or changed since `known` was read. */
export async function takeRefreshLease(
  core: ReadCore,
  known: KnownToken,
  refreshId: string,
): Promise<RefreshLease | null> {
  const [token] = await core.db.$queryRaw<TokenSnapshot[]>`
    UPDATE oauth_tokens t
    SET refresh_id = ${refreshId}::uuid, refresh_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}::float8)
    WHERE t.id = ${known.id}::uuid AND t.version = ${known.version} AND ${LEASABLE}
    RETURNING ${SNAPSHOT_COLUMNS}`
  return token ? { refreshId, token } : null
}

export type RefreshResult =
  | {
      kind: 'refreshed'
      content: TokenContent
      scopes: string[]
      rotated: boolean
      /** seconds; null: unknown */
      expiresIn: number | null
      /** start of the request, from the process's clock, so the stored expiry is never later than the real one */
      requestedAt: number
    }
  /** may be retried. `why`: a clause with "the provider" as its subject */
  | { kind: 'failed'; why: string }
  /** can't be refreshed again. `because`: a sentence for its owner */
  | { kind: 'ended'; because: string }

/** Also undoes `endAbandonedToken`: a server that seemed dead may return with an outcome while no other server took its lease. */
const NOT_ENDED = Prisma.sql`ended_at = NULL, ended_because = NULL`
const RELEASED = Prisma.sql`refresh_id = NULL, refresh_until = NULL`

/** Stores the result and releases the lease. False: the lease is lost and nothing was written. */
export function storeResult(
  core: WriteCore,
  { refreshId, token }: RefreshLease,
  result: RefreshResult,
): Promise<boolean> {
  const where = Prisma.sql`id = ${token.id}::uuid AND refresh_id = ${refreshId}::uuid`
  if (result.kind === 'ended')
    return endToken(
      core,
      token,
      Prisma.sql`${ended(result.because)}, ${RELEASED}`,
      Prisma.sql`${where} AND ended_at IS NULL`,
    )
  if (result.kind === 'failed')
    return update(
      core.db,
      Prisma.sql`refresh_failures = refresh_failures + 1, refresh_error = ${result.why},
        refresh_after = clock_timestamp() + make_interval(secs => least(${MAX_BACKOFF_SECONDS}::float8, 2 ^ least(refresh_failures, 20))),
        ${NOT_ENDED}, ${RELEASED}`,
      where,
    )
  const { content, scopes, rotated, expiresIn, requestedAt } = result
  const validForSeconds = expiresIn === null ? null : expiresIn - (performance.now() - requestedAt) / 1000
  return update(
    core.db,
    Prisma.sql`sealed = ${sealToken(core.keyring, token.id, content)}, refreshable = true, version = version + 1,
      expires_at = clock_timestamp() + make_interval(secs => ${validForSeconds}::float8),
      scopes = ${scopes}::text[], rotates = (rotates IS TRUE OR ${rotated}::boolean),
      refresh_failures = 0, refresh_error = NULL, refresh_after = NULL, updated_at = clock_timestamp(),
      ${NOT_ENDED}, ${RELEASED}`,
    where,
  )
}

/** Releases a lease without a result, because nothing was sent. */
export function releaseRefreshLease(core: ReadCore, id: string, refreshId: string): Promise<boolean> {
  const where = Prisma.sql`id = ${id}::uuid AND refresh_id = ${refreshId}::uuid`
  return update(core.db, Prisma.sql`${NOT_ENDED}, ${RELEASED}`, where)
}

/** Ends a token whose lease expired without an outcome: a second use of its refresh token would count as theft (../README.md). */
export function endAbandonedToken(core: WriteCore, token: TokenSnapshot): Promise<boolean> {
  const because = 'A server stopped during a refresh, and the refresh token may have been used up.'
  const where = Prisma.sql`id = ${token.id}::uuid AND version = ${token.version} AND ended_at IS NULL
    AND refresh_id IS NOT NULL AND refresh_until <= clock_timestamp() AND rotates IS NOT FALSE`
  // without RELEASED, so the lease holder can still store a result
  return endToken(core, token, ended(because), where)
}

const ended = (because: string) =>
  Prisma.sql`ended_at = clock_timestamp(), ended_because = ${because}, updated_at = clock_timestamp()`

function endToken(core: WriteCore, token: TokenSnapshot, set: Prisma.Sql, where: Prisma.Sql): Promise<boolean> {
  return transaction(core, async (tx) => {
    const written = await update(tx.sql, set, where)
    if (written) tx.emit({ workspaceId: token.workspaceId, type: 'oauth_token.expired', subjectId: token.id })
    return written
  })
}

async function update(sql: Sql, set: Prisma.Sql, where: Prisma.Sql): Promise<boolean> {
  const written = await sql.$queryRaw<unknown[]>`
    WITH written AS (UPDATE oauth_tokens SET ${set} WHERE ${where} RETURNING id)
    SELECT pg_notify(${OAUTH_CHANNEL}, id::text)::text FROM written`
  return written.length > 0
}
