/** Operations on alert rules and alerts (docs/alerts.md). */
import { listAlerts, listInput as listAlertsInput } from '../../../domain/alerts/alert.ts'
import {
  createInput,
  createRule,
  deleteInput,
  deleteRule,
  updateInput,
  updateRule,
} from '../../../domain/alerts/manage.ts'
import { getInput, getRule, listInput, listRules } from '../../../domain/alerts/rule.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { alertList, alertRule, alertRuleList } from '../responses/alert.ts'

const tag = 'Alerts'
const ONE = '/v2/alert-rules/{alert_rule_id}'

export const alerts: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/alert-rules',
    operationId: 'createAlertRule',
    summary: 'Create an alert rule',
    description:
      'An alert that fires or resolves is an event (`alert.fired`, `alert.resolved`), which webhook endpoints get. Needs the role `deployer`.',
    tag,
    input: createInput,
    ...singleResponse(201, 'The rule.', alertRule, createRule),
    errors: [404, 409],
  }),
  operation({
    method: 'GET',
    path: '/v2/alert-rules',
    operationId: 'listAlertRules',
    summary: 'List alert rules, newest first',
    tag,
    input: listInput,
    ...singleResponse(200, 'A page of alert rules.', alertRuleList, listRules),
    errors: [],
  }),
  operation({
    method: 'GET',
    path: ONE,
    operationId: 'getAlertRule',
    summary: 'Get an alert rule',
    tag,
    input: getInput,
    ...singleResponse(200, 'The rule.', alertRule, getRule),
    errors: [404],
  }),
  operation({
    method: 'PATCH',
    path: ONE,
    operationId: 'updateAlertRule',
    summary: 'Update an alert rule',
    description: 'An absent or null member keeps the stored value. Needs the role `deployer`.',
    tag,
    input: updateInput,
    ifMatch: true,
    ...singleResponse(200, 'The updated rule.', alertRule, updateRule),
    errors: [404],
  }),
  operation({
    method: 'DELETE',
    path: ONE,
    operationId: 'deleteAlertRule',
    summary: 'Delete an alert rule',
    description: 'Its alerts are deleted, too. Needs the role `deployer`.',
    tag,
    input: deleteInput,
    ifMatch: true,
    ...noContent('The rule is deleted.', deleteRule),
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: '/v2/alerts',
    operationId: 'listAlerts',
    summary: 'List alerts that have fired, newest first',
    tag,
    input: listAlertsInput,
    ...singleResponse(200, 'A page of alerts.', alertList, listAlerts),
    errors: [],
  }),
]
