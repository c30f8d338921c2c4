/** A token at one moment of the database's clock. Decides whether it is issued, refreshed or waited for. */
import { Prisma } from '../../../generated/prisma/client.ts'
import type { Core } from '../../transaction/context.ts'

export interface TokenSnapshot {
  id: string
  workspaceId: string
  oauthProviderId: string
  subject: string
  accountLabel: string | null
  label: string | null
  isDefault: boolean
  scopes: string[]
  sealed: string
  refreshable: boolean
  tokenUrl: string
  expiresAt: Date | null
  /** until the access token expires; negative afterwards; null: unknown */
  validForSeconds: number | null
  /** expired or in its last minute; for a short-lived token, in the second half of its lifetime */
  expiring: boolean
  endedAt: Date | null
  endedBecause: string | null
  version: number
  rotates: boolean | null
  refreshFailures: number
  /** why the last refresh failed: a clause with "the provider" as its subject */
  refreshError: string | null
  /** a server holds the refresh lease */
  refreshing: boolean
  /** the refresh lease expired without an outcome */
  abandoned: boolean
  /** the last refresh failed and the backoff is not over */
  backingOff: boolean
  /** the last use was recorded more than a minute ago, or never */
  useOutdated: boolean
}

/** Whether `oauth_tokens t` expires within `seconds`, or within half of its lifetime if that is shorter; null: unknown. */
export const expiresWithin = (seconds: number) => Prisma.sql`
  t.expires_at <= clock_timestamp() + greatest(interval '0',
    least(make_interval(secs => ${seconds}::float8), (t.expires_at - t.updated_at) / 2))`

/** Columns of a TokenSnapshot, from `oauth_tokens t`. */
export const SNAPSHOT_COLUMNS = Prisma.sql`
  t.id, t.workspace_id AS "workspaceId", t.oauth_provider_id AS "oauthProviderId", t.subject,
  t.account_label AS "accountLabel", t.label, t.is_default AS "isDefault", t.scopes, t.sealed, t.refreshable,
  t.token_url AS "tokenUrl", t.expires_at AS "expiresAt",
  extract(epoch FROM t.expires_at - clock_timestamp())::float8 AS "validForSeconds",
  coalesce(${expiresWithin(60)}, false) AS expiring,
  t.ended_at AS "endedAt", t.ended_because AS "endedBecause", t.version, t.rotates,
  t.refresh_failures AS "refreshFailures", t.refresh_error AS "refreshError",
  (t.refresh_id IS NOT NULL AND t.refresh_until > clock_timestamp()) AS refreshing,
  (t.refresh_id IS NOT NULL AND t.refresh_until <= clock_timestamp()) AS abandoned,
  (t.refresh_after IS NOT NULL AND t.refresh_after > clock_timestamp()) AS "backingOff",
  (t.used_at IS NULL OR t.used_at < clock_timestamp() - interval '1 minute') AS "useOutdated"`

export async function readSnapshot(core: Core, id: string): Promise<TokenSnapshot | null> {
  const [token] = await core.db.$queryRaw<
    TokenSnapshot[]
  >`SELECT ${SNAPSHOT_COLUMNS} FROM oauth_tokens t WHERE t.id = ${id}::uuid`
  return token ?? null
}
