/** Evaluates all alert rules: one statement per kind opens, fires and resolves alerts (README.md). Safe on several servers. */
import type { Prisma } from '../../generated/prisma/client.ts'
import { transaction, type WriteCore } from '../transaction/context.ts'
import { conditionSql } from './conditions.ts'
import { ALERT_KINDS, type AlertKind } from './rule.ts'

interface Change {
  event: 'alert.fired' | 'alert.resolved'
  workspaceId: string
  deploymentId: string
  ruleId: string
  name: string
  threshold: number | null
  minutes: number
  value: number | null
  /** whether the rule still watches the deployment */
  watched: boolean
}

/** One round. Without rules it is one statement. */
export async function evaluateAlerts(core: WriteCore): Promise<void> {
  const kinds = await core.db.$queryRaw<{ kind: string }[]>`SELECT DISTINCT kind FROM alert_rules`
  for (const { kind } of kinds) if (Object.hasOwn(ALERT_KINDS, kind)) await evaluate(core, kind as AlertKind)
}

/** The events are appended in the transaction of the change, so each of them is written once. */
function evaluate(core: WriteCore, kind: AlertKind): Promise<void> {
  return transaction(core, async (tx) => {
    for (const change of await changeAlerts(tx.sql, kind, core.clock())) {
      const { event: type, workspaceId, deploymentId, ruleId: subjectId } = change
      tx.emit({ workspaceId, type, deploymentId, subjectId, message: messageOf(kind, change) })
    }
  })
}

function changeAlerts(sql: Prisma.TransactionClient, kind: AlertKind, now: Date): Promise<Change[]> {
  return sql.$queryRaw<Change[]>`
    WITH state AS MATERIALIZED (${conditionSql(kind, now)}),
    open AS MATERIALIZED (
      SELECT a.id, a.fired_at, a.created_at, r.minutes, s.value, CASE WHEN s.rule_id IS NULL THEN false ELSE s.met END AS met
      FROM alerts a JOIN alert_rules r ON r.id = a.rule_id AND r.kind = ${kind}
      LEFT JOIN state s ON s.rule_id = a.rule_id AND s.deployment_id = a.deployment_id
      WHERE a.resolved_at IS NULL
    ), opened AS (
      INSERT INTO alerts (rule_id, workspace_id, deployment_id, value, fired_at)
      SELECT s.rule_id, r.workspace_id, s.deployment_id, s.value, CASE WHEN ${!waits(kind)}::boolean THEN clock_timestamp() END
      FROM state s JOIN alert_rules r ON r.id = s.rule_id
      WHERE s.met AND NOT EXISTS (
        SELECT 1 FROM alerts a WHERE a.rule_id = s.rule_id AND a.deployment_id = s.deployment_id AND a.resolved_at IS NULL)
      ON CONFLICT (rule_id, deployment_id) WHERE resolved_at IS NULL DO NOTHING
      RETURNING *
    ), fired AS (
      UPDATE alerts a SET fired_at = clock_timestamp() FROM open o
      WHERE a.id = o.id AND a.fired_at IS NULL AND o.met AND o.created_at <= clock_timestamp() - make_interval(mins => o.minutes)
      RETURNING a.*
    ), resolved AS (
      UPDATE alerts a SET resolved_at = clock_timestamp() FROM open o
      WHERE a.id = o.id AND o.fired_at IS NOT NULL AND NOT o.met AND a.resolved_at IS NULL
      RETURNING a.*
    ), dropped AS (
      DELETE FROM alerts a USING open o WHERE a.id = o.id AND o.fired_at IS NULL AND NOT o.met AND a.fired_at IS NULL
    ), changed AS (
      SELECT 'alert.fired' AS event, * FROM opened WHERE fired_at IS NOT NULL
      UNION ALL SELECT 'alert.fired', * FROM fired
      UNION ALL SELECT 'alert.resolved', * FROM resolved
    )
    SELECT c.event, c.workspace_id::text AS "workspaceId", c.deployment_id::text AS "deploymentId", c.rule_id::text AS "ruleId", r.name,
           r.threshold, r.minutes, c.value, EXISTS (SELECT 1 FROM state s WHERE s.rule_id = c.rule_id AND s.deployment_id = c.deployment_id) AS watched
    FROM changed c JOIN alert_rules r ON r.id = c.rule_id ORDER BY c.workspace_id, c.deployment_id, c.rule_id`
}

/** Whether the condition must hold for the minutes of the rule. A series is summed over these minutes instead. */
const waits = (kind: AlertKind): boolean => kind === 'not_serving'

const number = (value: number | null) => (value === null ? '' : String(Number(value.toPrecision(3))))

const FIRED: Record<AlertKind, (change: Change) => string> = {
  rollout_failed: () => 'the newest rollout failed',
  not_serving: ({ minutes }) => `it has not served for ${minutes} min`,
  queue_stalled: () => 'runs wait in its queue, and none is completed',
  restarts: ({ value, minutes }) => `${number(value)} restarts in ${minutes} min`,
  error_rate: ({ value, threshold, minutes }) =>
    `${number(value)} % of the requests failed in ${minutes} min; the limit is ${number(threshold)} %`,
  latency_p95: ({ value, threshold, minutes }) =>
    `${number(value)} % of the requests took longer than ${number(threshold)} s in ${minutes} min`,
  memory: ({ value, threshold }) =>
    `its memory is above ${number(value)} % of its limit; the threshold is ${number(threshold)} %`,
}

const RESOLVED: Record<AlertKind, string> = {
  rollout_failed: 'a rollout was deployed',
  not_serving: 'it serves again',
  queue_stalled: 'its queue completes runs, or none wait',
  restarts: 'fewer restarts',
  error_rate: 'the error rate is below the limit',
  latency_p95: 'the latency is below the limit',
  memory: 'the memory is below the threshold',
}

const UNWATCHED = 'the rule was disabled, or the deployment deleted'

const messageOf = (kind: AlertKind, change: Change): string =>
  `${change.name}: ${change.event === 'alert.fired' ? FIRED[kind](change) : change.watched ? RESOLVED[kind] : UNWATCHED}`
