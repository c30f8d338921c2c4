/** Alert rules and alerts (docs/alerts.md). */
import { type AlertState as AlertStateWord, alertState, alerts, whereState } from '../../../domain/alerts/alert.ts'
import {
  createInput,
  createRule,
  deleteInput,
  deleteRule,
  updateInput,
  updateRule,
} from '../../../domain/alerts/manage.ts'
import { type AlertKind as AlertKindWord, alertRules, getRule } from '../../../domain/alerts/rule.ts'
import { ConflictError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import type { Alert as AlertRow, AlertRule as AlertRuleRow } from '../../../domain/values/row-types.ts'
import { builder } from '../builder/builder.ts'
import { newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { AlertKind, AlertState } from '../builder/enums.ts'
import { deletion, mutation, resultAs, VERSION_DESCRIPTION } from '../builder/mutation.ts'

const AlertRule = builder.objectRef<AlertRuleRow>('AlertRule').implement({
  description: 'When to alert about deployments of the workspace.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    kind: t.field({ type: AlertKind, resolve: ({ kind }) => kind as AlertKindWord }),
    deploymentId: t.exposeID('deploymentId', {
      nullable: true,
      description: 'The only deployment of the rule. Null: all deployments of the workspace.',
    }),
    threshold: t.exposeFloat('threshold', {
      nullable: true,
      description: 'In the unit of the kind. Null: the kind has none.',
    }),
    minutes: t.exposeInt('minutes', {
      description: 'How long the condition must hold, or the time that a series is summed over. 0: the kind has none.',
    }),
    enabled: t.exposeBoolean('enabled'),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    version: t.exposeInt('editVersion', { description: VERSION_DESCRIPTION }),
  }),
})

const Alert = builder.objectRef<AlertRow>('Alert').implement({
  description: 'A condition of an alert rule that holds, or held, for a deployment.',
  fields: (t) => ({
    id: t.exposeID('id'),
    ruleId: t.exposeID('ruleId'),
    deploymentId: t.exposeID('deploymentId'),
    state: t.field({ type: AlertState, resolve: alertState }),
    value: t.exposeFloat('value', {
      nullable: true,
      description: 'The value when the alert began, such as a percentage. Null: the kind has none.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Since when the condition holds.' }),
    firedAt: t.field({ type: 'DateTime', resolve: ({ firedAt }) => firedAt! }),
    resolvedAt: t.expose('resolvedAt', { type: 'DateTime', nullable: true }),
  }),
})

builder.queryFields((t) => ({
  alertRule: t.field({
    type: AlertRule,
    nullable: true,
    description: 'One alert rule. NOT_FOUND if the id is unknown.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, ctx) => getRule(ctx, { path: { alert_rule_id: id } }),
  }),
  alertRules: t.connection(
    {
      type: AlertRule,
      description: 'The workspace’s alert rules, newest first.',
      complexity: pageCost,
      resolve: (_root, args, ctx) => newestOf(alertRules, ctx, args),
    },
    { name: 'AlertRuleConnection' },
    { name: 'AlertRuleEdge' },
  ),
  alerts: t.connection(
    {
      type: Alert,
      description: 'The workspace’s alerts that have fired, newest first.',
      args: { state: t.arg({ type: AlertState, description: 'Only alerts in this state.' }) },
      complexity: pageCost,
      resolve: (_root, { state, ...args }, ctx) =>
        newestOf(alerts, ctx, args, {}, () => whereState((state as AlertStateWord | null | undefined) ?? undefined)),
    },
    { name: 'AlertConnection' },
    { name: 'AlertEdge' },
  ),
}))

mutation('createAlertRule', {
  description: 'Creates an alert rule. Its alerts are events, which webhook endpoints get. For deployers.',
  input: createInput,
  type: resultAs('alertRule', AlertRule),
  errors: [NotFoundError, ConflictError],
  verb: createRule,
})

mutation('updateAlertRule', {
  description: 'Changes the given members and keeps the rest. For deployers.',
  input: updateInput,
  versioned: 'version',
  type: resultAs('alertRule', AlertRule),
  errors: [NotFoundError, PreconditionFailedError],
  verb: updateRule,
})

mutation('deleteAlertRule', {
  description: 'Deletes an alert rule with its alerts. For deployers.',
  input: deleteInput,
  versioned: 'version',
  ...deletion('alert_rule_id', 'The rule and its alerts are deleted.', deleteRule),
  errors: [NotFoundError, PreconditionFailedError],
})
