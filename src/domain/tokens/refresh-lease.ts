/**
 * The lease on a token's refresh, in the token's row: taken, and committed, before the provider is asked, so that of
 * all agents on all servers one asks. Its end says what came of it, once, and tells those who wait.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import { type Core, OAUTH_CHANNEL, type Sql, transaction } from '../context.ts'
import { STORED, type StoredToken } from './stored.ts'
import { sealToken, type TokenContent } from './token.ts'

/** ms that the provider has for its answer */
export const PATIENCE = 30_000
/** seconds: as long as the provider has, and what it takes to get to asking it and to write down what it said */
const LEASE_SECONDS = PATIENCE / 1000 + 10
/**
 * ms from taking the lease until the provider is asked, at most: later the lease could run out before its answer is
 * there
 */
const LATEST = 8000
/** seconds, of the back-off: 1, 2, 4 … */
const LONGEST_PAUSE = 300

/**
 * A holder that everybody thought dead may come back; as long as the lease is its own, only `endLapsed` can have ended
 * it.
 */
const NOT_ENDED = Prisma.sql`ended_at = NULL, ended_because = NULL`

/** `refreshId` is the fence: nobody writes what came of a refresh but the holder of its lease. */
export interface Lease {
  refreshId: string
  /** as it was when the lease was taken */
  token: StoredToken
  /** before it was, by the process's clock */
  askedAt: number
}

/** What the provider has given. */
export interface Refreshed {
  content: TokenContent
  /** seconds; null: nobody knows */
  validFor: number | null
  scopes: string[]
  rotated: boolean
}

/**
 * `refreshId`: a new one. Null: somebody else has it, or the token has changed since `seen` was read, has ended, or is
 * not to be tried yet. A lease that has run out is taken over only where the provider leaves refresh tokens as they are
 * (see `endLapsed`).
 */
export async function takeLease(
  core: Core,
  seen: Pick<StoredToken, 'id' | 'version'>,
  refreshId: string,
): Promise<Lease | null> {
  const askedAt = performance.now()
  const [token] = await core.db.$queryRaw<StoredToken[]>`
    UPDATE oauth_tokens t
    SET refresh_id = ${refreshId}::uuid, refresh_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}::float8)
    WHERE t.id = ${seen.id}::uuid AND t.version = ${seen.version} AND t.refreshable AND t.ended_at IS NULL
      AND (t.refresh_id IS NULL OR (t.refresh_until <= clock_timestamp() AND t.rotates IS FALSE))
      AND (t.refresh_after IS NULL OR t.refresh_after <= clock_timestamp())
    RETURNING ${STORED}`
  return token ? { refreshId, token, askedAt } : null
}

/** Whether it is too late to ask the provider: somebody else could take over, or give up, before it has answered. */
export function tooLate({ askedAt }: Lease): boolean {
  return performance.now() - askedAt > LATEST
}

/** Nothing was sent, and nothing will be. */
export async function returnLease(core: Core, id: string, refreshId: string): Promise<void> {
  await conclude(core, { refreshId, token: { id } }, NOT_ENDED)
}

/** It worked. False: the lease is not ours any more, nothing was written. */
export function storeRefreshed(core: Core, lease: Lease, got: Refreshed): Promise<boolean> {
  const sealed = sealToken(core.keyring, lease.token.id, got.content)
  return conclude(
    core,
    lease,
    Prisma.sql`sealed = ${sealed}, refreshable = true, version = version + 1,
      expires_at = clock_timestamp() + make_interval(secs => ${got.validFor}::float8),
      scopes = ${got.scopes}::text[], rotates = (rotates IS TRUE OR ${got.rotated}::boolean),
      refresh_failures = 0, refresh_error = NULL, refresh_after = NULL, ${NOT_ENDED},
      updated_at = clock_timestamp()`,
  )
}

/** It did not work now, and may later. `why`: for people, a clause that goes on from "the provider". */
export function postponeRefresh(core: Core, lease: Lease, why: string): Promise<boolean> {
  return conclude(
    core,
    lease,
    Prisma.sql`refresh_failures = refresh_failures + 1, refresh_error = ${why}, ${NOT_ENDED},
      refresh_after = clock_timestamp() + make_interval(secs => least(${LONGEST_PAUSE}::float8, 2 ^ least(refresh_failures, 20)))`,
  )
}

/** It will never work again. `because`: for people, a sentence. */
export function endToken(core: Core, { refreshId, token }: Lease, because: string): Promise<boolean> {
  return end(core, token, because, (sql, ended) =>
    update(
      sql,
      Prisma.sql`${ended}, refresh_id = NULL, refresh_until = NULL`,
      Prisma.sql`id = ${token.id}::uuid AND refresh_id = ${refreshId}::uuid AND ended_at IS NULL`,
    ),
  )
}

/**
 * Ends a token whose refresh was begun by somebody who has not said in time what came of it: most likely it died. The
 * refresh token may have been used up, and a provider that rotates them takes a second use for theft and revokes all
 * there is.
 */
export function endLapsed(core: Core, token: StoredToken): Promise<boolean> {
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
  token: StoredToken,
  because: string,
  write: (sql: Sql, ended: Prisma.Sql) => Promise<boolean>,
): Promise<boolean> {
  return transaction(core, async (tx) => {
    const ended = Prisma.sql`ended_at = clock_timestamp(), ended_because = ${because}, updated_at = clock_timestamp()`
    const written = await write(tx.sql, ended)
    if (written)
      tx.emit({ workspaceId: token.workspaceId, type: 'oauth_token.expired', subjectId: token.id, actor: null })
    return written
  })
}

type Held = Pick<Lease, 'refreshId'> & { token: Pick<StoredToken, 'id'> }

function conclude(core: Core, { refreshId, token }: Held, set: Prisma.Sql): Promise<boolean> {
  return update(
    core.db,
    Prisma.sql`${set}, refresh_id = NULL, refresh_until = NULL`,
    Prisma.sql`id = ${token.id}::uuid AND refresh_id = ${refreshId}::uuid`,
  )
}

async function update(sql: Sql, set: Prisma.Sql, where: Prisma.Sql): Promise<boolean> {
  const told = await sql.$queryRaw<unknown[]>`
    WITH written AS (UPDATE oauth_tokens SET ${set} WHERE ${where} RETURNING id)
    SELECT pg_notify(${OAUTH_CHANNEL}, id::text)::text FROM written`
  return told.length > 0
}
