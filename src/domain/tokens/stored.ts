/**
 * A token as it is stored, with all that decides whether it is handed out, refreshed or waited for, by the database's
 * clock.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core } from '../context.ts'

export interface StoredToken {
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
  /** seconds until its access token expires, negative when it has; null: nobody knows */
  validFor: number | null
  /**
   * it has expired, or will within a minute; of one that is short-lived the second half counts, or it would always be
   */
  expiring: boolean
  endedAt: Date | null
  endedBecause: string | null
  version: number
  rotates: boolean | null
  refreshFailures: number
  /** why the last one failed: a clause that goes on from "the provider" */
  refreshError: string | null
  /** a refresh is under way, somewhere */
  held: boolean
  /** whoever refreshed it has not said in time what came of it */
  lapsed: boolean
  /** it could not be refreshed, and is not tried again yet */
  backingOff: boolean
  /** no use of it was written down for a minute, or ever */
  unused: boolean
}

/**
 * Whether `oauth_tokens t` expires within so many seconds, or within half of its lifetime, if that is less. Null:
 * nobody knows when.
 */
export const expiresWithin = (seconds: number) => Prisma.sql`
  t.expires_at <= clock_timestamp() + greatest(interval '0',
    least(make_interval(secs => ${seconds}::float8), (t.expires_at - t.updated_at) / 2))`

/** The columns of a StoredToken, of `oauth_tokens t`. */
export const STORED = Prisma.sql`
  t.id, t.workspace_id AS "workspaceId", t.oauth_provider_id AS "oauthProviderId", t.subject,
  t.account_label AS "accountLabel", t.label, t.is_default AS "isDefault", t.scopes, t.sealed, t.refreshable,
  t.token_url AS "tokenUrl", t.expires_at AS "expiresAt",
  extract(epoch FROM t.expires_at - clock_timestamp())::float8 AS "validFor",
  coalesce(${expiresWithin(60)}, false) AS expiring,
  t.ended_at AS "endedAt", t.ended_because AS "endedBecause", t.version, t.rotates,
  t.refresh_failures AS "refreshFailures", t.refresh_error AS "refreshError",
  (t.refresh_id IS NOT NULL AND t.refresh_until > clock_timestamp()) AS held,
  (t.refresh_id IS NOT NULL AND t.refresh_until <= clock_timestamp()) AS lapsed,
  (t.refresh_after IS NOT NULL AND t.refresh_after > clock_timestamp()) AS "backingOff",
  (t.used_at IS NULL OR t.used_at < clock_timestamp() - interval '1 minute') AS unused`

export async function findStored(core: Core, id: string): Promise<StoredToken | null> {
  const [token] = await core.db.$queryRaw<StoredToken[]>`SELECT ${STORED} FROM oauth_tokens t WHERE t.id = ${id}::uuid`
  return token ?? null
}
