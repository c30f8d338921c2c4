/** The work on revisions, piece by piece, and how long it took. Finished steps are kept as long as logs are (retention/details.ts). */
import { Prisma } from '../../generated/prisma/client.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { isTerminal } from '../values/lifecycle.ts'
import { knownReason, type Reason } from '../values/reasons.ts'
import type { RevisionStatus } from '../values/row-types.ts'
import { liveDeploymentSql, REVISIONS_WITH_DEPLOYMENT } from './tenant-sql.ts'

/** A piece of work of a revision, oldest first. A PROVISION is that of its deployment, for which it waited. */
export interface RevisionStep {
  kind: 'PROVISION' | 'BUILD' | 'DEPLOY'
  /** since when somebody could have taken it */
  createdAt: Date
  /** null: nobody has taken it */
  startedAt: Date | null
  /** null: it is open */
  endedAt: Date | null
  /** that count */
  tries: number
  outcome: 'succeeded' | 'failed' | 'cancelled' | null
  reason: Reason | null
  /** of its newest rollout; else of an attempt before */
  isCurrent: boolean
}

/** In seconds, of the newest rollout; null: it did not come to that, it is not over, or nobody knows. */
export interface RevisionDurations {
  /** in which nobody worked on it */
  waited: number | null
  provision: number | null
  build: number | null
  deploy: number | null
  /** from when it was asked for until its work ended */
  total: number | null
}

/** Of a revision what its durations follow from. */
export interface RolloutTimes {
  createdAt: Date
  attempt: number
  rolloutAt: Date | null
  status: RevisionStatus
  statusSince: Date
}

/** When its newest rollout began; null: a server of before did not say. */
export const rolloutStartedAt = ({
  rolloutAt,
  attempt,
  createdAt,
}: Pick<RolloutTimes, 'rolloutAt' | 'attempt' | 'createdAt'>): Date | null =>
  rolloutAt ?? (attempt === 1 ? createdAt : null)

const between = (from: Date | null | undefined, to: Date | null | undefined) =>
  from && to ? Math.max(0, to.getTime() - from.getTime()) / 1000 : null

/** Pure. */
export function durationsOf(revision: RolloutTimes, steps: readonly RevisionStep[]): RevisionDurations {
  const durationOf = (kind: RevisionStep['kind']) => {
    const step = steps.findLast((one) => one.kind === kind && one.isCurrent)
    return between(step?.startedAt, step?.endedAt)
  }
  const [provision, build, deploy] = [durationOf('PROVISION'), durationOf('BUILD'), durationOf('DEPLOY')]
  const total = isTerminal(revision.status) ? between(rolloutStartedAt(revision), revision.statusSince) : null
  const worked = (provision ?? 0) + (build ?? 0) + (deploy ?? 0)
  return { waited: total === null ? null : rounded(Math.max(0, total - worked)), provision, build, deploy, total }
}

const rounded = (seconds: number) => Math.round(seconds * 1000) / 1000

/** Of each of these revisions; other tenants' are not in the map. One statement. Role: viewer. */
export async function readSteps(ctx: RequestContext, ids: readonly string[]): Promise<Map<string, RevisionStep[]>> {
  requireRole(ctx, 'viewer')
  const rows = await ctx.db.$queryRaw<(Omit<RevisionStep, 'reason'> & { id: string; reason: string | null })[]>`
    SELECT d.id, s.kind::text, s.created_at AS "createdAt", s.first_taken_at AS "startedAt", s.finished_at AS "endedAt",
           s.tries - s.tries_given_back AS tries, s.outcome::text, s.reason,
           coalesce(coalesce(s.finished_at, 'infinity') >= coalesce(d.rollout_at, CASE WHEN d.attempt = 1 THEN d.created_at END), true) AS "isCurrent"
    FROM ${REVISIONS_WITH_DEPLOYMENT} CROSS JOIN LATERAL (
      SELECT * FROM steps x WHERE x.revision_id = d.id
      UNION ALL
      SELECT * FROM steps x WHERE x.deployment_id = d.deployment_id AND x.kind = 'PROVISION' AND ${provisionOverlapsSql}
    ) s
    WHERE d.id = ANY (${ids}::uuid[]) AND ${liveDeploymentSql(ctx)}
    ORDER BY s.created_at, s.id`
  const steps = new Map<string, RevisionStep[]>(ids.map((id) => [id, []]))
  for (const { id, reason, ...step } of rows) steps.get(id)?.push({ ...step, reason: knownReason(reason, null) })
  return steps
}

/** A provisioning `x` that was under way while revision `d` waited for it. */
const provisionOverlapsSql = Prisma.sql`
  coalesce(x.finished_at, 'infinity') >= d.created_at AND x.created_at <= CASE
    WHEN d.status = 'CREATING' OR EXISTS (SELECT 1 FROM steps w WHERE w.revision_id = d.id) THEN now() ELSE d.status_since END`
