/** Alert rules: their kinds and shapes, and the rows that a caller may see (docs/alerts.md). */
import { z } from 'zod'
import type { AlertRule } from '../../generated/prisma/client.ts'
import type { OffsetPage } from '../paging/paging.ts'
import { optional, printableName, uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { tenant } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { resource } from '../transaction/resource.ts'
import { MAX_SEEN } from '../values/agent-restart.ts'
import { offsetQuery } from '../values/shapes.ts'

interface Kind {
  description: string
  /** null: the kind has no threshold */
  threshold: { preset: number; min: number; max: number } | null
  /** null: the alert fires immediately */
  minutes: number | null
}

export const ALERT_KINDS = {
  rollout_failed: {
    description: 'The newest rollout failed. It resolves when a later rollout is deployed.',
    threshold: null,
    minutes: null,
  },
  not_serving: {
    description: 'A deployment that was deployed has not served for `minutes`.',
    threshold: null,
    minutes: 5,
  },
  queue_stalled: {
    description: 'Runs wait in the queue, and none is completed (`health.reason` is QUEUE_STALLED).',
    threshold: null,
    minutes: null,
  },
  restarts: {
    description: 'The agent restarted at least `threshold` times in `minutes`.',
    threshold: { preset: 3, min: 1, max: MAX_SEEN },
    minutes: 10,
  },
  error_rate: {
    description:
      'More than `threshold` percent of at least 10 requests in `minutes` were answered with a status from 500.',
    threshold: { preset: 5, min: 0, max: 100 },
    minutes: 5,
  },
  latency_p95: {
    description: 'More than 5 % of at least 10 requests in `minutes` took longer than `threshold` seconds.',
    threshold: { preset: 10, min: 0.001, max: 3600 },
    minutes: 5,
  },
  memory: {
    description: 'The memory was above `threshold` percent of its limit in all samples of `minutes`.',
    threshold: { preset: 90, min: 1, max: 100 },
    minutes: 5,
  },
} as const satisfies Record<string, Kind>
export type AlertKind = keyof typeof ALERT_KINDS
export const ALERT_KIND_WORDS = Object.keys(ALERT_KINDS) as [AlertKind, ...AlertKind[]]

export const kindOf = (kind: string): Kind => ALERT_KINDS[kind as AlertKind]

const threshold = optional(z.number()).describe('In the unit of the kind. Default: by the kind.')
const minutes = optional(z.int().min(1).max(60)).describe(
  'How long the condition must hold, or the time that a series is summed over. Default: by the kind.',
)
const enabled = optional(z.boolean()).describe('A disabled rule has no open alerts.')

export const createBody = z
  .object({
    name: printableName,
    kind: z
      .enum(ALERT_KIND_WORDS)
      .meta({ typeName: 'AlertKind' })
      .describe(ALERT_KIND_WORDS.map((kind) => `\`${kind}\`: ${ALERT_KINDS[kind].description}`).join(' ')),
    deployment_id: optional(uuid).describe(
      'The only deployment of the rule. Default: all deployments of the workspace.',
    ),
    threshold,
    minutes,
    enabled,
  })
  .meta({ id: 'AlertRuleCreate' })

/** `kind` and `deployment_id` cannot be changed. */
export const updateBody = z
  .object({ name: optional(printableName), threshold, minutes, enabled })
  .meta({ id: 'AlertRuleUpdate' })

export const rulePath = z.object({ alert_rule_id: uuid })

/** Role: viewer. */
export const alertRules = resource<AlertRule>({
  name: 'Alert rule',
  table: (sql) => sql.alertRule,
  visible: tenant,
  view: {},
})

export const getInput = z.object({ path: rulePath })
export const getRule = (ctx: RequestContext, raw: RawInput): Promise<AlertRule> =>
  alertRules.get(ctx, () => parse(getInput, raw).path.alert_rule_id)

export const listInput = z.object({ query: z.object(offsetQuery) })
export const listRules = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<AlertRule>> =>
  alertRules.page(ctx, () => parse(listInput, raw).query)
