/** The schema's enums, with their values as they are spelled in REST. */

import { CATALOGUE, type ErrorCode } from '../../../domain/errors/errors.ts'
import { COMPUTE_TYPES } from '../../../domain/listeners/schemas.ts'
import { LISTENER_STATUSES } from '../../../domain/listeners/status.ts'
import { AUTHORIZATION_STATUSES } from '../../../domain/oauth/authorizations/schemas.ts'
import { TOKEN_STATUSES } from '../../../domain/oauth/tokens/token.ts'
import { COMPARED_PARTS } from '../../../domain/revision-diff/compare.ts'
import { type ChangeWord, DEPLOYMENT_CHANGES } from '../../../domain/values/deployment-change.ts'
import { ACTOR_KINDS, type ActorKind } from '../../../domain/values/event-actor.ts'
import { AUTH_METHODS, CODE_CHALLENGE_METHODS, PROVIDER_TYPES } from '../../../domain/values/oauth-provider.ts'
import { REASONS, type Reason as ReasonWord } from '../../../domain/values/reasons.ts'
import { AUTOSCALERS } from '../../../domain/values/resource-spec.ts'
import { DEPLOYMENT_STATUSES } from '../../../domain/values/shapes.ts'
import { TRIGGERS, type Trigger } from '../../../domain/values/trigger.ts'
import * as prisma from '../../../generated/prisma/enums.ts'
import { OVERLOAD_CAUSES, type OverloadCause as OverloadWord } from '../../../platform/async/overload.ts'
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

export const DeploymentSource = enumOf('DeploymentSource', prisma.Source, 'What a deployment is made from.')
export const DeploymentType = enumOf('DeploymentType', prisma.DeploymentType, 'Size class of a git deployment.')
enumOf('Autoscaler', AUTOSCALERS, 'Who decides the replicas between minimum and maximum.')
export const DeploymentStatus = enumOf(
  'DeploymentStatus',
  DEPLOYMENT_STATUSES,
  'Derived from what is known of the deployment at the moment of the answer.',
)
export const RevisionStatus = enumOf(
  'RevisionStatus',
  prisma.RevisionStatus,
  'Terminal are DEPLOYED, the FAILED ones, SKIPPED and INTERRUPTED; only a redeploy leads on from them.',
)
export const Reason = builder.enumType('Reason', {
  description:
    'Why something waits, failed or ended, for machines. The same reason can be of something that may still mend itself and of something that has failed: the status tells which.',
  values: Object.fromEntries(Object.entries(REASONS).map(([word, description]) => [word, { description }])) as Record<
    ReasonWord,
    { description: string }
  >,
})
export const ActorKindEnum = builder.enumType('ActorKind', {
  description: 'What did something.',
  values: Object.fromEntries(
    Object.entries(ACTOR_KINDS).map(([kind, description]) => [kind, { description }]),
  ) as Record<ActorKind, { description: string }>,
})
export const DeploymentChangeKind = builder.enumType('DeploymentChangeKind', {
  description: 'What somebody did to a deployment; there may be new ones.',
  values: Object.fromEntries(
    Object.entries(DEPLOYMENT_CHANGES).map(([word, description]) => [word, { description }]),
  ) as Record<ChangeWord, { description: string }>,
})
export const RevisionTrigger = builder.enumType('RevisionTrigger', {
  description: 'What made a revision. A redeploy makes none.',
  values: Object.fromEntries(Object.entries(TRIGGERS).map(([word, description]) => [word, { description }])) as Record<
    Trigger,
    { description: string }
  >,
})
export const OverloadCause = builder.enumType('OverloadCause', {
  description: 'Why a server is overloaded; there may be new ones.',
  values: Object.fromEntries(
    Object.entries(OVERLOAD_CAUSES).map(([word, description]) => [word, { description }]),
  ) as Record<OverloadWord, { description: string }>,
})
export const ComputeType = enumOf(
  'ComputeType',
  COMPUTE_TYPES,
  'Kinds of compute infrastructure. k8s: a Kubernetes cluster.',
)
export const ListenerStatus = enumOf(
  'ListenerStatus',
  LISTENER_STATUSES,
  'OFFLINE: it has never called, or was not heard from for 90 seconds.',
)
export const Plan = enumOf('Plan', prisma.Plan, 'What an organization has subscribed to.')
export const Role = enumOf(
  'Role',
  prisma.Role,
  'viewer reads, deployer writes deployments, admin everything; listener and agent are for machines.',
)
export const StepOutcome = enumOf('StepOutcome', prisma.StepOutcome, 'How a piece of work ended.')
export const RevisionStepKind = builder.enumType('RevisionStepKind', {
  description: 'The kinds of work on a revision.',
  values: ['PROVISION', 'BUILD', 'DEPLOY'] as const,
})
export const RevisionPart = builder.enumType('RevisionPart', {
  description: 'A part of a revision, or of how it runs.',
  values: COMPARED_PARTS,
})
export const LogType = enumOf('LogType', prisma.LogType, 'Which of a revision’s two logs.')
export const LogLevel = enumOf('LogLevel', prisma.LogLevel, 'Severity of a log line, least first.')
export const IntegrationKind = enumOf('GitIntegrationKind', prisma.IntegrationKind, 'Where repositories come from.')
export const OAuthProviderType = enumOf('OAuthProviderType', PROVIDER_TYPES, 'Providers that depart from the standard.')
export const TokenEndpointAuthMethod = enumOf(
  'TokenEndpointAuthMethod',
  AUTH_METHODS,
  'How the client proves itself at the token endpoint.',
)
export const CodeChallengeMethod = enumOf(
  'CodeChallengeMethod',
  CODE_CHALLENGE_METHODS,
  'How PKCE’s code challenge is made from the verifier.',
)
export const OAuthTokenStatus = enumOf(
  'OAuthTokenStatus',
  TOKEN_STATUSES,
  'EXPIRED: its owner has to authenticate again. One that is refreshed by itself is ACTIVE.',
)
export const AuthorizationStatus = enumOf(
  'AuthorizationStatus',
  AUTHORIZATION_STATUSES,
  'completed: the token is there, and the agent, if one was named, may use it. pending: the person has to open the URL. connection_required: the agent is not connected to the token that is there. token_expired: the token has ended for good.',
)
export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'One catalogue of codes serves GraphQL and REST.',
  values: Object.keys(CATALOGUE) as [ErrorCode, ...ErrorCode[]],
})

/** Whether it is spelled like this in the schema, too. */
export const isEnumValue = (word: string): boolean => values.has(word)

/** `typeName` of the zod enum that a verb parses with. */
export function enumNamed(typeName: string | undefined): EnumType {
  const found = byName.get(typeName ?? '')
  if (!found) throw new Error(`no enum of the schema is called ${typeName}`)
  return found
}
