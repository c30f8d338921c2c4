/**
 * Rules for a PATCH (docs/deployments.md#deployments). Pure. Clients send back what they read, so a fixed field is accepted
 * with its stored value.
 */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import type { Violation } from '../errors/errors.ts'
import { immutableViolations, whyImmutable } from '../parsing/parse.ts'
import { secretViolations } from '../secrets/rules.ts'
import type { SecretReference, UpdateBody } from '../values/shapes.ts'
import {
  contentViolations,
  onlyForViolation,
  referenceViolations,
  refViolations,
  sourceViolations,
} from './source-rules.ts'

export interface Stored {
  deployment: Readonly<Deployment>
  /** the revision that the PATCH changes */
  base: Revision
  /** names of the stored secrets */
  secrets: readonly string[]
}

/** All violations together. `tarball`: those of the tarball, which the caller has looked up. */
export function patchViolations(
  { deployment, base, secrets }: Stored,
  body: UpdateBody,
  tarball: Violation[],
): Violation[] {
  const fixed = fixedFields(deployment, body)
  const references = body.secret_references ?? (deployment.secretReferences as unknown as SecretReference[] | null)
  return [
    ...fixedViolations(deployment.source, fixed),
    // fixed fields are reported once
    ...sourceViolations(
      deployment.source,
      body,
      fixed.map(([field]) => field),
    ),
    ...contentViolations(body),
    ...tarball,
    ...refAndPushViolations(deployment.buildOnPush, base.repoRef, body),
    ...secretViolations(body.secrets ?? [], secrets),
    ...referenceViolations(references, body.secrets?.map((secret) => secret.name) ?? secrets),
  ]
}

/** Checked only if one of the two is sent: after a rollback to a tag, a change of secrets must not fail because of that tag. */
function refAndPushViolations(
  storedBuildOnPush: boolean | null,
  storedRef: string | null,
  body: UpdateBody,
): Violation[] {
  const repoRef = body.source_revision_config?.repo_ref
  const buildOnPush = body.source_config?.build_on_push
  if (repoRef == null && buildOnPush == null) return []
  return refViolations(repoRef ?? storedRef, buildOnPush ?? storedBuildOnPush)
}

/** field, sent value, stored value */
type Fixed = [string, unknown, unknown]

function fixedFields(deployment: Readonly<Deployment>, body: UpdateBody): Fixed[] {
  const config = body.source_config
  return [
    ['name', body.name, deployment.name],
    ['source', body.source, deployment.source],
    ['source_config.integration_id', config?.integration_id, deployment.integrationId],
    ['source_config.repo_url', config?.repo_url, deployment.repoUrl],
    // accepted and ignored for sources without a type
    ...(deployment.deploymentType === null
      ? []
      : [['source_config.deployment_type', config?.deployment_type, deployment.deploymentType] as Fixed]),
    ['source_config.listener_id', config?.listener_id, deployment.listenerId],
    ['source_config.listener_config.k8s_namespace', config?.listener_config?.k8s_namespace, deployment.k8sNamespace],
    // for other sources the data plane sets it
    ...(deployment.source === 'external_container'
      ? []
      : [['source_config.custom_url', config?.custom_url, deployment.customUrl] as Fixed]),
  ]
}

/** The message of create says more if the source does not have the field. */
const fixedViolations = (source: Deployment['source'], fixed: Fixed[]): Violation[] =>
  fixed.flatMap((one) => {
    const found = immutableViolations([one], whyImmutable)
    return found.length > 0 ? (onlyForViolation(source, one[0]) ?? found) : []
  })
