/** Deployments in REST, and answers about one (docs/deployments.md#deployments, docs/deployments.md#secrets). */
import { z } from 'zod'
import { conditionOf, whyNotLive } from '../../../domain/deployment-status/condition.ts'
import { healthOf, isRestarting, isServing } from '../../../domain/deployment-status/serving.ts'
import { deploymentStatus, deploymentUrl, URL_DESCRIPTION } from '../../../domain/deployment-status/status.ts'
import type { BulkResult } from '../../../domain/deployments/delete.ts'
import type { DeploymentView } from '../../../domain/deployments/read.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { presentSecrets } from '../../../domain/secrets/secret-set.ts'
import { lastRestart, restartCount } from '../../../domain/values/agent-restart.ts'
import { DEPLOYMENT_CHANGES, type DeploymentChange, lastChangeOf } from '../../../domain/values/deployment-change.ts'
import { DeploymentAccess, Source } from '../../../domain/values/row-types.ts'
import {
  DEPLOYMENT_STATUSES,
  type SecretReference,
  type SourceConfig,
  secret,
  secretReference,
  sourceConfig,
  sourceRevisionConfig,
} from '../../../domain/values/shapes.ts'
import { actor, describeWords } from './actor.ts'
import { pageSchema, responseSchema, shapeEncoder, time } from './response-schema.ts'
import { NO_REVISION, reason, revisionConfig } from './revision.ts'

const health = responseSchema(
  { id: 'DeploymentHealth' },
  {
    ready: z.int().describe('Replicas that serve, according to the last report.'),
    desired: z.int().describe('Replicas that should serve.'),
    draining: z.int().describe('Replaced replicas that take no new work and finish their runs.'),
    message: z.string().nullable().describe('Why some replicas do not serve.'),
    reason,
    observed_at: time.nullable().describe('When this health was first reported; null if there was no report yet.'),
  },
)

const restart = responseSchema(
  { id: 'LastRestart' },
  {
    at: time.describe('When the agent ended.'),
    revision_id: uuid.describe('The revision of the agent.'),
    reason,
    exit_code: z.int().nullable(),
    signal: z.string().nullable().describe('The signal that ended it, such as SIGTERM.'),
    message: z.string(),
  },
)

const deploymentChange = responseSchema(
  { id: 'DeploymentChange' },
  {
    at: time,
    what: z
      .enum(Object.keys(DEPLOYMENT_CHANGES) as (keyof typeof DEPLOYMENT_CHANGES)[])
      .describe(describeWords(DEPLOYMENT_CHANGES)),
    actor: actor.describe('Who made the change.'),
    changed: z.array(z.string()).describe('The fields that an update changed, without their values.'),
    revision_id: uuid.nullable().describe('The revision that was redeployed.'),
  },
  ({ revision }: DeploymentChange) => ({ revisionId: revision?.id ?? null }),
)

const settings = shapeEncoder(sourceConfig.shape, (view: DeploymentView) => ({
  resourceSpec: view.resourceSpec as SourceConfig['resource_spec'],
  listenerConfig: view.k8sNamespace === null ? null : { k8s_namespace: view.k8sNamespace },
}))

export const deployment = responseSchema(
  { id: 'Deployment' },
  {
    id: uuid,
    tenant_id: uuid.describe('The workspace that owns the deployment.'),
    name: z.string(),
    source: z.enum(Source),
    source_config: sourceConfig,
    source_revision_config: sourceRevisionConfig.describe('The configuration of the latest revision.'),
    secrets: z.array(secret).describe('Values are masked for callers who may not read secrets.'),
    secret_references: z.array(secretReference).nullable(),
    access: z.enum(DeploymentAccess).describe('The callers that the agent gets requests of.'),
    idle_minutes: z
      .int()
      .nullable()
      .describe(
        'The time without a request after which an agent with `min_scale` 0 sleeps. null: the default of the server.',
      ),
    status: z.enum(DEPLOYMENT_STATUSES),
    serving: z.boolean().describe('Whether the deployment serves requests now, according to the lease holder.'),
    status_message: z
      .string()
      .nullable()
      .describe(
        'Why the deployment does not serve, what its teardown waits for, why the teardown failed, or that its git integration was removed.',
      ),
    reason: reason.describe('The same as a machine-readable code.'),
    reason_since: time.nullable().describe('Since when the reason applies; null if unknown.'),
    why_not_live: z
      .string()
      .nullable()
      .describe('One sentence that says why the latest requested revision does not serve; null if it serves.'),
    last_change: deploymentChange
      .nullable()
      .describe(
        'The last change that a caller made, at `updated_at`. It is null if a server version without this field made the last change.',
      ),
    health: health.nullable().describe('It is null only while the deployment is being deleted.'),
    url: z.string().nullable().describe(URL_DESCRIPTION),
    image_version: z.string().nullable(),
    latest_revision_id: uuid.nullable(),
    active_revision_id: uuid.nullable().describe('The revision that serves.'),
    restarted_at: time
      .nullable()
      .describe('When a restart of the active revision was last requested; null if not since its deploy.'),
    restarting: z
      .boolean()
      .describe('Whether that restart is not done yet. The old processes serve until the new ones are ready.'),
    restart_count: z.int().describe('How often an agent ended by itself and was started again.'),
    last_restart: restart.nullable().describe('The newest of these restarts.'),
    created_at: time,
    updated_at: time,
  },
  (view: DeploymentView, ctx) => {
    const now = ctx.clock()
    const condition = conditionOf(view, now)
    return {
      tenantId: view.workspaceId,
      sourceConfig: settings(view, ctx),
      sourceRevisionConfig: revisionConfig(view.latestRevision ?? NO_REVISION, ctx),
      secrets: presentSecrets(ctx, view.secretSet),
      secretReferences: view.secretReferences as SecretReference[] | null,
      status: deploymentStatus(view, now),
      serving: isServing(view, now),
      statusMessage: condition?.message ?? null,
      reason: condition?.reason ?? null,
      reasonSince: condition?.since ?? null,
      whyNotLive: whyNotLive(view, now),
      lastChange: lastChangeOf(view),
      health: healthOf(view, now),
      url: deploymentUrl(view),
      restarting: isRestarting(view),
      restartCount: restartCount(view),
      lastRestart: lastRestart(view),
    }
  },
)

export const deploymentList = pageSchema('DeploymentList', deployment)

const deletion = responseSchema(
  {},
  {
    deployment_id: uuid,
    status: z.int().describe('The status that a DELETE of this deployment alone would have answered.'),
    detail: z.string().nullable().describe('Why the deletion failed; null if it succeeded.'),
  },
)

export const bulkDeletion = responseSchema(
  { id: 'BulkDeletion' },
  { results: z.array(deletion) },
  (results: readonly BulkResult[]) => ({ results }),
)

export const uploadUrl = responseSchema(
  { id: 'UploadUrl' },
  {
    upload_url: z.url().describe('Accepts one PUT of a gzip tarball within one hour, without an API key.'),
    object_path: z.string().describe('Use it as `source_revision_config.source_tarball_path`.'),
  },
)

export const pushToken = responseSchema(
  { id: 'PushToken' },
  {
    token: z.string().describe('The password for `docker login`, with any user name. It is valid for 15 minutes.'),
    registry_url: z
      .string()
      .describe('Registry and repository. Push to `registry_url:tag` or `registry_url/name:tag`.'),
  },
)

export const deploymentLink = responseSchema(
  { id: 'DeploymentLink' },
  {
    url: z.url().describe('Opens the agent without a key. Everyone who has the URL can use it until it ends.'),
    expires_at: time.nullable().describe('When the link ends; null for a public deployment.'),
  },
)
