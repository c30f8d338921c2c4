/**
 * What PATCH can't change (spec 2.1, 2.2; contract 2). Clients send back what they got, so a value equal to
 * what is stored passes; another one is a violation.
 */
import type { Deployment } from '../../generated/prisma/client.ts'
import type { Violation } from '../errors.ts'
import { violation } from '../parse.ts'
import { onlyForViolation } from './rules.ts'
import type { UpdateBody } from './schemas.ts'

/** field, what was said, what is stored */
type Immutable = [string, unknown, unknown]

function immutables(deployment: Deployment, body: UpdateBody): Immutable[] {
  const config = body.source_config
  return [
    ['name', body.name, deployment.name],
    ['source', body.source, deployment.source],
    ['source_config.integration_id', config?.integration_id, deployment.integrationId],
    ['source_config.repo_url', config?.repo_url, deployment.repoUrl],
    // for the sources that have none it means nothing, whatever it says
    ...(deployment.deploymentType === null
      ? []
      : [['source_config.deployment_type', config?.deployment_type, deployment.deploymentType] as Immutable]),
    ['source_config.listener_id', config?.listener_id, deployment.listenerId],
    ['source_config.listener_config.k8s_namespace', config?.listener_config?.k8s_namespace, deployment.k8sNamespace],
    // set by the data plane, and read-only, for every source but external_container
    ...(deployment.source === 'external_container'
      ? []
      : [['source_config.custom_url', config?.custom_url, deployment.customUrl] as Immutable]),
  ]
}

export function immutableViolations(deployment: Deployment, body: UpdateBody): Violation[] {
  return immutables(deployment, body)
    .filter(([, said, stored]) => said != null && said !== stored)
    .map(
      ([field, , stored]) =>
        // as create says it: to say only that it can't be changed would be half the truth
        onlyForViolation(deployment.source, field) ??
        violation(
          field,
          `Cannot be changed after creation; it is ${stored === null ? 'not set' : JSON.stringify(stored)}.`,
        ),
    )
}

/** The fields that are judged here, so that "only for …" does not complain about them a second time. */
export function immutableFields(deployment: Deployment): string[] {
  return immutables(deployment, {}).map(([field]) => field)
}
