/** The steps of revisions and their durations. Finished steps are kept as long as logs (domain/retain.ts). */
import { Prisma } from '../../generated/prisma/client.ts'
import { knownReason, type Reason } from '../errors/reasons.ts'
import { liveDeploymentSql, REVISIONS_WITH_DEPLOYMENT } from '../query-engine/reading.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import { isTerminal } from '../values/lifecycle.ts'
import type { RevisionStatus } from '../values/row-types.ts'

/** A PROVISION step is its deployment's, if the revision waited for it. */
export interface RevisionStep {
  kind: 'PROVISION' | 'BUILD' | 'DEPLOY'
  /** when a worker could first take it */
  createdAt: Date
  /** null: not taken */
  startedAt: Date | null
  /** null: open */
  endedAt: Date | null
  /** without returned tries */
  tries: number
  outcome: 'succeeded' | 'failed' | 'cancelled' | null
  reason: Reason | null
  /** whether it belongs to the newest rollout */
  isCurrent: boolean
}

/** In seconds, of the newest rollout; null: not reached, not ended, or unknown. */
export interface RevisionDurations {
  /** time in which no worker worked on it */
  waited: number | null
  provision: number | null
  build: number | null
  deploy: number | null
  /** from the request to the end of its work */
  total: number | null
}

export interface RolloutTimes {
  createdAt: Date
  attempt: number
  rolloutAt: Date | null
  status: RevisionStatus
  statusSince: Date
}

/** When the newest rollout began; null: an older server did not record it. */
export const rolloutStartedAt = ({
  rolloutAt,
  attempt,
  createdAt,
}: Pick<RolloutTimes, 'rolloutAt' | 'attempt' | 'createdAt'>): Date | null =>
  rolloutAt ?? (attempt === 1 ? createdAt : null)

const secondsBetween = (from: Date | null | undefined, to: Date | null | undefined) =>
  from && to ? Math.max(0, to.getTime() - from.getTime()) / 1000 : null

/** Pure. */
export function durationsOf(revision: RolloutTimes, steps: readonly RevisionStep[]): RevisionDurations {
  const durationOf = (kind: RevisionStep['kind']) => {
    const step = steps.findLast((one) => one.kind === kind && one.isCurrent)
    return secondsBetween(step?.startedAt, step?.endedAt)
  }
  const [provision, build, deploy] = [durationOf('PROVISION'), durationOf('BUILD'), durationOf('DEPLOY')]
  const total = isTerminal(revision.status) ? secondsBetween(rolloutStartedAt(revision), revision.statusSince) : null
  const worked = (provision ?? 0) + (build ?? 0) + (deploy ?? 0)
  return { waited: total === null ? null : rounded(Math.max(0, total - worked)), provision, build, deploy, total }
}

const rounded = (seconds: number) => Math.round(seconds * 1000) / 1000

/** The steps of each revision, oldest first; other tenants' revisions stay empty. One statement. Role: viewer. */
export async function readSteps(ctx: ReadContext, ids: readonly string[]): Promise<Map<string, RevisionStep[]>> {
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

/** A PROVISION step `x` was open while revision `d` waited for it. */
const provisionOverlapsSql = Prisma.sql`
  coalesce(x.finished_at, 'infinity') >= d.created_at AND x.created_at <= CASE
    WHEN d.status = 'CREATING' OR EXISTS (SELECT 1 FROM steps w WHERE w.revision_id = d.id) THEN now() ELSE d.status_since END`
