/**
 * The condition of each kind of rule as SQL, for all rules of the kind in all workspaces. Rows: rule, deployment, `met` and `value`.
 * `met` is null while it can't be decided: an open alert then stays open.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import { servingSql } from '../deployment-status/serving.ts'
import { bucketSql, LATENCY_BUCKETS } from '../values/latency-histogram.ts'
import { FAILED, inSql } from '../values/lifecycle.ts'
import { MEASURES, type Measure, SAMPLE_SECONDS } from '../values/metrics.ts'
import type { AlertKind } from './rule.ts'

/** Enabled rules `r` of a kind, each with its living deployments `d`. */
const rulesOf = (kind: AlertKind) => Prisma.sql`
  alert_rules r JOIN deployments d ON d.workspace_id = r.workspace_id AND (r.deployment_id IS NULL OR r.deployment_id = d.id)
    AND d.deleted_at IS NULL AND r.kind = ${kind} AND r.enabled`

/** Fewer requests say nothing about a rate. */
const MIN_REQUESTS = 10

export function conditionSql(kind: AlertKind, now: Date): Prisma.Sql {
  switch (kind) {
    case 'rollout_failed':
      return Prisma.sql`
        SELECT r.id AS rule_id, d.id AS deployment_id, NULL::float8 AS value,
               CASE WHEN d.latest_outcome IN (${Prisma.raw(inSql(FAILED))}) THEN true WHEN d.latest_outcome = 'DEPLOYED' THEN false END AS met
        FROM ${rulesOf(kind)}`
    case 'not_serving':
      return Prisma.sql`
        SELECT r.id AS rule_id, d.id AS deployment_id, NOT ${servingSql(now)} AS met, NULL::float8 AS value
        FROM ${rulesOf(kind)} LEFT JOIN listeners l ON l.id = d.listener_id WHERE d.active_revision_id IS NOT NULL`
    case 'queue_stalled':
      return Prisma.sql`
        SELECT r.id AS rule_id, d.id AS deployment_id, coalesce(d.health->>'reason' = 'QUEUE_STALLED', false) AS met, NULL::float8 AS value
        FROM ${rulesOf(kind)}`
    // the restarts themselves, because a series lacks those of a time in which nothing was measured
    case 'restarts':
      return Prisma.sql`
        SELECT r.id AS rule_id, d.id AS deployment_id, s.value >= r.threshold AS met, s.value
        FROM ${rulesOf(kind)} CROSS JOIN LATERAL (
          SELECT count(*)::float8 AS value FROM jsonb_array_elements(d.restarts -> 'seen') AS restart
          WHERE (restart ->> 'at')::timestamptz > ${now}::timestamptz - make_interval(mins => r.minutes)
        ) AS s`
    case 'error_rate': {
      const rate = Prisma.sql`
        CASE WHEN ${requests} >= ${MIN_REQUESTS} THEN 100 * ${sum('requests_5xx')} / ${requests} END`
      return seriesSql(kind, now, rate, Prisma.sql`s.value > r.threshold`)
    }
    case 'memory': {
      const samples = Prisma.sql`r.minutes * ${60 / SAMPLE_SECONDS} * 0.8`
      const lowest = Prisma.sql`
        CASE WHEN count(m.${column('memory')}) >= ${samples} THEN 100 * min(m.${column('memory')} / nullif(m.${column('memory_limit')}, 0)) END`
      return seriesSql(kind, now, lowest, Prisma.sql`s.value > r.threshold`)
    }
    case 'latency_p95':
      return latencySql(kind, now)
  }
}

const column = (name: Measure) => Prisma.raw(name)
const sum = (name: Measure) => Prisma.sql`coalesce(sum(m.${column(name)}), 0)`

const ANSWERED: Measure[] = ['requests_1xx', 'requests_2xx', 'requests_3xx', 'requests_4xx', 'requests_5xx']
const requests = Prisma.sql`(${Prisma.join(ANSWERED.map(sum), ' + ')})`

/** Rows of samples in the last `minutes` of the rule; a row has up to a minute of samples. */
const chunks = (now: Date) => Prisma.sql`
  metric_chunks c WHERE c.deployment_id = d.id AND c.resolution = ${SAMPLE_SECONDS}
    AND c.start > ${now}::timestamptz - make_interval(mins => r.minutes + 1)`

/** `value`: an aggregate of the samples `m`. A deployment without samples does not meet the condition. */
function seriesSql(kind: AlertKind, now: Date, value: Prisma.Sql, met: Prisma.Sql): Prisma.Sql {
  const columns = Prisma.join(
    MEASURES.map((name, i) => Prisma.sql`c.measures[t.n][${Prisma.raw(String(i + 1))}] AS ${column(name)}`),
  )
  return Prisma.sql`
    SELECT r.id AS rule_id, d.id AS deployment_id, coalesce(${met}, false) AS met, s.value
    FROM ${rulesOf(kind)} CROSS JOIN LATERAL (
      SELECT (${value})::float8 AS value FROM (
        SELECT ${columns} FROM ${Prisma.sql`(SELECT c.* FROM ${chunks(now)}) AS c`}
        CROSS JOIN LATERAL generate_series(1, array_length(c.measures, 1)) AS t(n)
        WHERE c.start + make_interval(secs => (t.n - 1) * ${SAMPLE_SECONDS}) > ${now}::timestamptz - make_interval(mins => r.minutes)
      ) AS m
    ) AS s`
}

/** p95 is above the threshold if more than 5 % of the requests are in buckets above the threshold's. `value`: their percentage. */
function latencySql(kind: AlertKind, now: Date): Prisma.Sql {
  return Prisma.sql`
    SELECT r.id AS rule_id, d.id AS deployment_id, coalesce(s.requests >= ${MIN_REQUESTS} AND s.slow > 0.05 * s.requests, false) AS met,
           (100 * s.slow / nullif(s.requests, 0))::float8 AS value
    FROM ${rulesOf(kind)} CROSS JOIN LATERAL (
      SELECT sum(b.count)::float8 AS requests,
             coalesce(sum(b.count) FILTER (WHERE b.bucket % ${LATENCY_BUCKETS} > ${Prisma.raw(bucketSql('r.threshold'))}), 0)::float8 AS slow
      FROM (SELECT c.* FROM ${chunks(now)}) AS c CROSS JOIN LATERAL unnest(c.buckets, c.counts) AS b(bucket, count)
      WHERE c.start + make_interval(secs => b.bucket / ${LATENCY_BUCKETS} * ${SAMPLE_SECONDS}) > ${now}::timestamptz - make_interval(mins => r.minutes)
    ) AS s`
}
