/** Alert rules and alerts in REST (docs/alerts.md). */
import { z } from 'zod'
import { ALERT_STATES, alertState } from '../../../domain/alerts/alert.ts'
import { ALERT_KIND_WORDS, ALERT_KINDS, type AlertKind } from '../../../domain/alerts/rule.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import type { Alert, AlertRule } from '../../../domain/values/row-types.ts'
import { describeWords } from './actor.ts'
import { pageSchema, responseSchema, time } from './response-schema.ts'

const KIND_WORDS = Object.fromEntries(ALERT_KIND_WORDS.map((kind) => [kind, ALERT_KINDS[kind].description]))

export const alertRule = responseSchema(
  { id: 'AlertRule' },
  {
    id: uuid,
    name: z.string(),
    kind: z.enum(ALERT_KIND_WORDS).describe(describeWords(KIND_WORDS)),
    deployment_id: uuid.nullable().describe('The only deployment of the rule; null for all of the workspace.'),
    threshold: z.number().nullable().describe('In the unit of the kind; null if the kind has none.'),
    minutes: z
      .int()
      .describe('How long the condition must hold, or the time that a series is summed over; 0 if the kind has none.'),
    enabled: z.boolean(),
    created_by: z.string().nullable(),
    created_at: time,
    updated_at: time,
  },
  (row: AlertRule) => ({ kind: row.kind as AlertKind }),
)

export const alertRuleList = pageSchema('AlertRuleList', alertRule)

const alert = responseSchema(
  { id: 'Alert' },
  {
    id: uuid,
    rule_id: uuid,
    deployment_id: uuid,
    state: z.enum(ALERT_STATES),
    value: z
      .number()
      .nullable()
      .describe('The value when the alert began, such as a percentage; null if the kind has none.'),
    created_at: time.describe('Since when the condition holds.'),
    fired_at: time,
    resolved_at: time.nullable(),
  },
  (row: Alert) => ({ state: alertState(row), firedAt: row.firedAt! }),
)

export const alertList = pageSchema('AlertList', alert)
