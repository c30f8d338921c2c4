/**
 * An agent's environment: secrets, secret references, and Pilothouse's variables, which take precedence.
 * domain/secrets/rules.ts has their names too; a test keeps the lists equal.
 */
import type { SecretReference } from '../../../domain/protocol/protocol.ts'
import { graceVariables } from '../../runtimes/grace-variables.ts'
import { telemetryVariables } from '../../runtimes/telemetry-variables.ts'
import { AGENT_PORT, DATABASE_KEYS, namesOf } from '../objects/names.ts'
import type { Application, DeploymentRef, RenderOptions } from '../objects/types.ts'
import { externalOf } from './external.ts'
import { BACKLOG_PASSWORD, countsInDatabase } from './scale.ts'
import { secretKey } from './secrets.ts'

interface Variable {
  name: string
  value?: string
  valueFrom?: { secretKeyRef: { name: string; key: string } }
}

/** Pods contain references to secrets, never values. */
const fromSecret = (name: string, secret: string, key: string): Variable => ({
  name,
  valueFrom: { secretKeyRef: { name: secret, key } },
})

export function environment(
  deployment: DeploymentRef,
  app: Application,
  role: 'server' | 'queue',
  options: RenderOptions,
): Variable[] {
  const names = namesOf(deployment.deploymentId)
  const { revision } = app
  const external = externalOf(app.secretReferences)
  const at = (reference: SecretReference | null, ours: string): [secret: string, key: string] =>
    reference ? [reference.secret_name, reference.secret_key] : [names.database, ours]
  const database = at(external.database, DATABASE_KEYS.uri)
  const cache = at(external.cache, DATABASE_KEYS.cacheUri)
  const countsBacklog = role === 'queue' && countsInDatabase(app.spec, options) && !external.database
  const agent = { ...deployment, revisionId: revision.id }
  const defaults = { ...telemetryVariables(options.otlpEndpoint, agent), ...graceVariables(app.spec) }
  const variables = [
    ...(countsBacklog ? [fromSecret(BACKLOG_PASSWORD, names.database, DATABASE_KEYS.password)] : []),
    ...Object.entries(defaults).map(([name, value]) => ({ name, value })),
    ...revision.secrets.map(({ name }) => fromSecret(name, names.secrets(revision.number), secretKey(name))),
    // a redeployed revision has old secrets, but the deployment's secret references are current and take precedence
    ...app.secretReferences.map((it) => fromSecret(it.name, it.secret_name, it.secret_key)),
    { name: 'PORT', value: String(AGENT_PORT) },
    // traffic comes from outside the pod, so an agent that reads HOST must not listen on loopback
    { name: 'HOST', value: '0.0.0.0' },
    fromSecret('DATABASE_URI', ...database),
    fromSecret('POSTGRES_URI', ...database),
    fromSecret('REDIS_URI', ...cache),
    { name: 'AGENT_SERVER_ROLE', value: role },
    { name: 'PILOTHOUSE_DEPLOYMENT_ID', value: deployment.deploymentId },
    { name: 'PILOTHOUSE_REVISION_ID', value: revision.id },
  ]
  // the last variable of a name wins; API servers refuse duplicates
  return [...new Map(variables.map((variable) => [variable.name, variable])).values()]
}
