/** The schema's enums, with the values of spec.md as they are spelled there. */

import { AUTHORIZATION_STATUSES } from '../domain/authorizations/schemas.ts'
import { DEPLOYMENT_STATUSES } from '../domain/deployments/schemas.ts'
import { CATALOGUE, type ErrorCode } from '../domain/errors.ts'
import { COMPUTE_TYPES } from '../domain/listeners/schemas.ts'
import { LISTENER_STATUSES } from '../domain/listeners/status.ts'
import { AUTH_METHODS, CODE_CHALLENGE_METHODS, PROVIDER_TYPES } from '../domain/providers/schemas.ts'
import { REASONS, type Reason as ReasonWord } from '../domain/reasons.ts'
import { TOKEN_STATUSES } from '../domain/tokens/token.ts'
import * as prisma from '../generated/prisma/enums.ts'
import { builder } from './builder.ts'

function enumOf<V extends string>(name: string, values: Record<string, V>, description: string) {
  return builder.enumType(name, { description, values: Object.values(values) as [V, ...V[]] })
}

export const DeploymentSource = enumOf('DeploymentSource', prisma.Source, 'What a deployment is made from.')
export const DeploymentType = enumOf('DeploymentType', prisma.DeploymentType, 'Size class of a git deployment.')
export const DeploymentStatus = builder.enumType('DeploymentStatus', {
  description: 'Derived from what is known of the deployment at the moment of the answer.',
  values: DEPLOYMENT_STATUSES,
})
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
export const ComputeType = builder.enumType('ComputeType', {
  description: 'Kinds of compute infrastructure. k8s: a Kubernetes cluster.',
  values: COMPUTE_TYPES,
})
export const ListenerStatus = builder.enumType('ListenerStatus', {
  description: 'OFFLINE: it has never called, or was not heard from for 90 seconds.',
  values: LISTENER_STATUSES,
})
export const Plan = enumOf('Plan', prisma.Plan, 'What an organization has subscribed to.')
export const Role = enumOf(
  'Role',
  prisma.Role,
  'viewer reads, deployer writes deployments, admin everything; listener and agent are for machines.',
)
export const LogType = enumOf('LogType', prisma.LogType, 'Which of a revision’s two logs.')
export const LogLevel = enumOf('LogLevel', prisma.LogLevel, 'Severity of a log line, least first.')
export const IntegrationKind = enumOf('GitIntegrationKind', prisma.IntegrationKind, 'Where repositories come from.')
export const OAuthProviderType = builder.enumType('OAuthProviderType', {
  description: 'Providers that depart from the standard.',
  values: PROVIDER_TYPES,
})
export const TokenEndpointAuthMethod = builder.enumType('TokenEndpointAuthMethod', {
  description: 'How the client proves itself at the token endpoint.',
  values: AUTH_METHODS,
})
export const CodeChallengeMethod = builder.enumType('CodeChallengeMethod', {
  description: 'How PKCE’s code challenge is made from the verifier.',
  values: CODE_CHALLENGE_METHODS,
})
export const OAuthTokenStatus = builder.enumType('OAuthTokenStatus', {
  description: 'EXPIRED: its owner has to authenticate again. One that is refreshed by itself is ACTIVE.',
  values: TOKEN_STATUSES,
})
export const AuthorizationStatus = builder.enumType('AuthorizationStatus', {
  description:
    'completed: the token is there, and the agent, if one was named, may use it. pending: the person has to open the URL. connection_required: the agent is not connected to the token that is there. token_expired: the token has ended for good.',
  values: AUTHORIZATION_STATUSES,
})
export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description: 'One catalogue of codes serves GraphQL and REST.',
  values: Object.keys(CATALOGUE) as [ErrorCode, ...ErrorCode[]],
})

const BY_VALUES = [
  [DeploymentSource, prisma.Source],
  [DeploymentType, prisma.DeploymentType],
  [Role, prisma.Role],
  [ComputeType, COMPUTE_TYPES],
  [OAuthProviderType, PROVIDER_TYPES],
  [TokenEndpointAuthMethod, AUTH_METHODS],
  [CodeChallengeMethod, CODE_CHALLENGE_METHODS],
] as const

/** Whether it is spelled like this in the schema, too. */
export function isEnumValue(word: string): boolean {
  return BY_VALUES.some(([, own]) => Object.values<unknown>(own).includes(word))
}

/** The enum that has all of `values`: which of the schema's a JSON schema means. */
export function enumWithValues(values: readonly unknown[]): (typeof BY_VALUES)[number][0] {
  const found = BY_VALUES.find(([, own]) => values.every((value) => Object.values<unknown>(own).includes(value)))
  if (!found) throw new Error(`no enum of the schema has the values ${values.join(', ')}`)
  return found[0]
}
