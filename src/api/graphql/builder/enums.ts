/** The schema's enums. Values are spelled as in REST. */

import { ALERT_STATES } from '../../../domain/alerts/alert.ts'
import { ALERT_KIND_WORDS, ALERT_KINDS } from '../../../domain/alerts/rule.ts'
import { CATALOGUE, type ErrorCode } from '../../../domain/errors/errors.ts'
import { REASONS } from '../../../domain/errors/reasons.ts'
import { LISTENER_STATUSES } from '../../../domain/listeners/read.ts'
import { COMPUTE_TYPES } from '../../../domain/listeners/schemas.ts'
import { LOGIN_STATUSES } from '../../../domain/logins/login.ts'
import { AUTHORIZATION_STATUSES } from '../../../domain/oauth/authorizations/authorization.ts'
import { TOKEN_STATUSES } from '../../../domain/oauth/tokens/token.ts'
import { COMPARED_PARTS } from '../../../domain/revisions/compare.ts'
import { DEPLOYMENT_CHANGES } from '../../../domain/values/deployment-change.ts'
import { ACTOR_KINDS } from '../../../domain/values/event-types.ts'
import { METRIC_NAMES, METRIC_UNITS, METRICS, type MetricName as MetricWord } from '../../../domain/values/metrics.ts'
import { AUTH_METHODS, CODE_CHALLENGE_METHODS, PROVIDER_TYPES } from '../../../domain/values/oauth-provider.ts'
import { AUTOSCALERS, QUEUE_METRICS } from '../../../domain/values/resource-spec.ts'
import { TRIGGERS } from '../../../domain/values/revision-source.ts'
import { DEPLOYMENT_STATUSES } from '../../../domain/values/shapes.ts'
import { DELIVERY_STATES } from '../../../domain/webhooks/delivery.ts'
import { WEBHOOK_FORMS } from '../../../domain/webhooks/endpoint.ts'
import * as prisma from '../../../generated/prisma/enums.ts'
import { OVERLOAD_CAUSES } from '../../../platform/async/overload.ts'
import { builder } from './builder.ts'

export type EnumType = ReturnType<typeof enumOf<string>>

const byName = new Map<string, EnumType>()
const values = new Set<string>()

function enumOf<V extends string>(name: string, own: Record<string, V> | readonly V[], description: string) {
  const type = builder.enumType(name, { description, values: Object.values(own) as [V, ...V[]] })
  byName.set(name, type as EnumType)
  for (const value of Object.values(own)) values.add(value)
  return type
}

/** `words`: the values with their descriptions. */
function described<V extends string>(name: string, words: Readonly<Record<V, string>>, description: string) {
  const values = Object.entries<string>(words).map(([word, meaning]) => [word, { description: meaning }])
  return builder.enumType(name, { description, values: Object.fromEntries(values) as Record<V, object> })
}

export const DeploymentSource = enumOf('DeploymentSource', prisma.Source, 'The source of a deployment.')
export const DeploymentType = enumOf('DeploymentType', prisma.DeploymentType, 'The size class of a git deployment.')
export const DeploymentAccess = enumOf(
  'DeploymentAccess',
  prisma.DeploymentAccess,
  'The callers of an agent: credentials of its workspace, credentials of any workspace of its organization, or everyone.',
)
enumOf('QueueMetric', QUEUE_METRICS, 'What the number of queue replicas depends on.')
enumOf('Autoscaler', AUTOSCALERS, 'What decides the number of replicas between minimum and maximum.')
export const DeploymentStatus = enumOf(
  'DeploymentStatus',
  DEPLOYMENT_STATUSES,
  'The deployment’s status, derived at the time of the answer.',
)
export const RevisionStatus = enumOf(
  'RevisionStatus',
  prisma.RevisionStatus,
  'DEPLOYED, the FAILED statuses, SKIPPED and INTERRUPTED are terminal. Only a redeploy leaves them.',
)
export const LoginStatus = enumOf('LoginStatus', LOGIN_STATUSES, 'The status of a login of the command line.')
export const Reason = described(
  'Reason',
  REASONS,
  'The machine-readable reason why something waits, failed or ended. One reason can describe a temporary problem or a failure. The status tells which.',
)
export const ActorKindEnum = described('ActorKind', ACTOR_KINDS, 'The kind of an actor.')
export const DeploymentChangeKind = described(
  'DeploymentChangeKind',
  DEPLOYMENT_CHANGES,
  'The kind of a change to a deployment. New values may be added.',
)
export const RevisionTrigger = described(
  'RevisionTrigger',
  TRIGGERS,
  'What created a revision. A redeploy creates none.',
)
export const OverloadCause = described(
  'OverloadCause',
  OVERLOAD_CAUSES,
  'Why a server is overloaded. New values may be added.',
)
export const ComputeType = enumOf(
  'ComputeType',
  COMPUTE_TYPES,
  'Kinds of compute infrastructure. k8s is a Kubernetes cluster.',
)
export const ListenerStatus = enumOf(
  'ListenerStatus',
  LISTENER_STATUSES,
  'OFFLINE: the listener never called, or its last call is more than 90 seconds ago.',
)
export const Plan = enumOf('Plan', prisma.Plan, 'The plan of an organization.')
export const Role = enumOf(
  'Role',
  prisma.Role,
  'A viewer reads, a deployer writes deployments, an admin does everything. The other roles are for machines.',
)
export const StepOutcome = enumOf('StepOutcome', prisma.StepOutcome, 'How a step ended.')
export const RevisionStepKind = builder.enumType('RevisionStepKind', {
  description: 'The kinds of steps of a revision.',
  values: ['PROVISION', 'BUILD', 'DEPLOY'] as const,
})
export const RevisionPart = builder.enumType('RevisionPart', {
  description: 'A part of a revision or of its runtime settings.',
  values: COMPARED_PARTS,
})
export const LogType = enumOf('LogType', prisma.LogType, 'The two logs of a revision.')
export const LogLevel = enumOf('LogLevel', prisma.LogLevel, 'The severity of a log line, lowest first.')
export const MetricName = described(
  'MetricName',
  Object.fromEntries(METRIC_NAMES.map((name) => [name, METRICS[name].description])) as Record<MetricWord, string>,
  'The names of series.',
)
export const MetricUnit = builder.enumType('MetricUnit', {
  description: 'The unit of a series. A core is one CPU in use all the time.',
  values: METRIC_UNITS,
})
export const IntegrationKind = enumOf('GitIntegrationKind', prisma.IntegrationKind, 'The kind of a git integration.')
export const OAuthProviderType = enumOf(
  'OAuthProviderType',
  PROVIDER_TYPES,
  'Providers that deviate from the standard.',
)
export const TokenEndpointAuthMethod = enumOf(
  'TokenEndpointAuthMethod',
  AUTH_METHODS,
  'How the client authenticates at the token endpoint.',
)
export const CodeChallengeMethod = enumOf(
  'CodeChallengeMethod',
  CODE_CHALLENGE_METHODS,
  'How PKCE derives the code challenge from the verifier.',
)
export const OAuthTokenStatus = enumOf(
  'OAuthTokenStatus',
  TOKEN_STATUSES,
  'EXPIRED: the owner must authenticate again. A token that is refreshed automatically stays ACTIVE.',
)
export const AuthorizationStatus = enumOf(
  'AuthorizationStatus',
  AUTHORIZATION_STATUSES,
  'completed: the token exists, and the named agent may use it. pending: the person must open the URL. connection_required: the token exists, but the agent is not connected to it. token_expired: the token has ended.',
)
export const AlertKind = enumOf(
  'AlertKind',
  ALERT_KIND_WORDS,
  ALERT_KIND_WORDS.map((kind) => `${kind}: ${ALERT_KINDS[kind].description}`).join(' '),
)
export const AlertState = enumOf('AlertState', ALERT_STATES, 'Whether the condition of an alert still holds.')
export const WebhookForm = enumOf(
  'WebhookForm',
  WEBHOOK_FORMS,
  'standard: signed JSON. slack: a text for an incoming webhook of Slack.',
)
export const DeliveryState = enumOf(
  'DeliveryState',
  DELIVERY_STATES,
  'dead: the delivery is not tried any more, because every try of 24 hours failed.',
)
export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'Error codes, the same as in REST.',
  values: Object.keys(CATALOGUE) as [ErrorCode, ...ErrorCode[]],
})

/** Whether the word is an enum value and must keep its spelling. */
export const isEnumValue = (word: string): boolean => values.has(word)

/** `typeName`: from the metadata of the verb's zod enum. */
export function enumNamed(typeName: string | undefined): EnumType {
  const found = byName.get(typeName ?? '')
  if (!found) throw new Error(`no enum of the schema is called ${typeName}`)
  return found
}
