/** A deployment as REST shows it (spec 2.1 to 2.5): snake_case, ISO times, null for what is not there. */
import type { z } from 'zod'
import type { RequestContext } from '../../domain/context.ts'
import type { DeploymentView } from '../../domain/deployments/read.ts'
import type { SecretReference, SourceConfig } from '../../domain/deployments/schemas.ts'
import { healthOf, isServing } from '../../domain/deployments/serving.ts'
import { standingOf } from '../../domain/deployments/standing.ts'
import { deploymentStatus } from '../../domain/deployments/status.ts'
import { deploymentUrl } from '../../domain/deployments/url.ts'
import { presentSecrets } from '../../domain/secrets/secret-set.ts'
import type { deployment } from '../schemas.ts'
import { NO_REVISION, presentRevisionConfig } from './revision.ts'

export function presentDeployment(ctx: RequestContext, view: DeploymentView): z.output<typeof deployment> {
  const now = ctx.clock()
  const standing = standingOf(view, now)
  const health = healthOf(view, now)
  return {
    id: view.id,
    tenant_id: view.workspaceId,
    name: view.name,
    source: view.source,
    source_config: {
      integration_id: view.integrationId,
      repo_url: view.repoUrl,
      deployment_type: view.deploymentType,
      build_on_push: view.buildOnPush,
      custom_url: view.customUrl,
      resource_spec: view.resourceSpec as SourceConfig['resource_spec'],
      listener_id: view.listenerId,
      listener_config: view.k8sNamespace === null ? null : { k8s_namespace: view.k8sNamespace },
      install_command: view.installCommand,
      build_command: view.buildCommand,
    },
    source_revision_config: presentRevisionConfig(view.latestRevision ?? NO_REVISION),
    secrets: presentSecrets(ctx, view.secretSet),
    secret_references: view.secretReferences as SecretReference[] | null,
    status: deploymentStatus(view, now),
    serving: isServing(view, now),
    status_message: standing?.message ?? null,
    reason: standing?.reason ?? null,
    reason_since: standing?.since?.toISOString() ?? null,
    health: health && {
      ready: health.ready,
      desired: health.desired,
      message: health.message,
      reason: health.reason,
      observed_at: health.observedAt?.toISOString() ?? null,
    },
    url: deploymentUrl(view),
    image_version: view.imageVersion,
    latest_revision_id: view.latestRevisionId,
    active_revision_id: view.activeRevisionId,
    created_at: view.createdAt.toISOString(),
    updated_at: view.updatedAt.toISOString(),
  }
}
