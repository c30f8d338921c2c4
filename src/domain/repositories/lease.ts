/** SQL conditions for lease, fencing token and scope. Every call of the data plane is checked by them. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { StepKind } from '../../generated/prisma/enums.ts'

/** The deployments that a holder may lease: of one listener, or (null) those without a listener, for the built-in worker. */
export interface Scope {
  listenerId: string | null
}

export interface HeldClaim {
  claimId: string
  token: string
}

/** SQL condition on deployments `d` that can use an index, unlike IS NOT DISTINCT FROM. */
export function ofScope({ listenerId }: Scope): Prisma.Sql {
  return listenerId === null ? Prisma.sql`d.listener_id IS NULL` : Prisma.sql`d.listener_id = ${listenerId}::uuid`
}

/** The lease of deployment `d` is valid. A renewal is in `lease_renewals` if the deployment's row was locked (heartbeat.ts). */
export const LEASE_HOLDS = Prisma.sql`(
  d.lease_expires_at > now() OR EXISTS (SELECT 1 FROM lease_renewals x WHERE x.claim_id = d.claim_id AND x.expires_at > now()))`

/** The open step is not offered to builders, its back-off is over, and its kind is not in `refused`. */
export const stepIsDue = (refused: readonly StepKind[]) => Prisma.sql`EXISTS (
  SELECT 1 FROM steps s WHERE s.deployment_id = d.id AND s.finished_at IS NULL AND s.offered_at IS NULL AND (s.not_before IS NULL OR s.not_before <= now())
    ${refused.length > 0 ? Prisma.sql`AND s.kind::text <> ALL (${[...refused]}::text[])` : Prisma.empty})`

/** The claim holds deployment `d`. Both arguments are SQL expressions with a type. */
export function isHeld(scope: Scope, claimId: Prisma.Sql, token: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    d.claim_id = ${claimId} AND d.lease_token = ${token} AND ${LEASE_HOLDS} AND d.torn_down_at IS NULL AND ${ofScope(scope)}`
}

/** The same as text. `listenerId` is a value that may be null, for the built-in worker. */
export const isHeldText = (claimId: string, token: string, listenerId: string): string => `
    d.claim_id = ${claimId} AND d.lease_token = ${token} AND ${LEASE_HOLDS.sql} AND d.torn_down_at IS NULL
    AND CASE WHEN ${listenerId} IS NULL THEN d.listener_id IS NULL ELSE d.listener_id = ${listenerId} END`

export function isHeldUnder(scope: Scope, { claimId, token }: HeldClaim): Prisma.Sql {
  return isHeld(scope, Prisma.sql`${claimId}::uuid`, Prisma.sql`${token}::numeric`)
}
