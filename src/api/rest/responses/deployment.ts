/** Deployments as REST shows them, and what else is answered about one (docs/deployments.md#deployments, docs/deployments.md#secrets). */
import { z } from 'zod'
import { conditionOf } from '../../../domain/deployment-status/condition.ts'
import { healthOf, isServing } from '../../../domain/deployment-status/serving.ts'
import { deploymentStatus } from '../../../domain/deployment-status/status.ts'
import { deploymentUrl, URL_DESCRIPTION } from '../../../domain/deployment-status/url.ts'
import { whyNotLive } from '../../../domain/deployment-status/why-not-live.ts'
import type { BulkResult } from '../../../domain/deployments/delete.ts'
import type { DeploymentView } from '../../../domain/deployments/read.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { presentSecrets } from '../../../domain/secrets/secret-set.ts'
import { DEPLOYMENT_CHANGES, type DeploymentChange, lastChangeOf } from '../../../domain/values/deployment-change.ts'
import { Source } from '../../../domain/values/row-types.ts'
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
    ready: z.int().describe('Replicas that serve, as it was last reported.'),
    desired: z.int().describe('Replicas that should.'),
    message: z.string().nullable().describe('Why not all of them serve.'),
    reason,
    observed_at: time.nullable().describe('Since when that was reported; null: nothing was yet.'),
  },
)

const deploymentChange = responseSchema(
  { id: 'DeploymentChange' },
  {
    at: time,
    what: z
      .enum(Object.keys(DEPLOYMENT_CHANGES) as (keyof typeof DEPLOYMENT_CHANGES)[])
      .describe(describeWords(DEPLOYMENT_CHANGES)),
    actor: actor.describe('Who did it.'),
    changed: z.array(z.string()).describe('Of an update: the fields that it changed; never their values.'),
    revision_id: uuid.nullable().describe('The revision that was rolled out again.'),
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
    tenant_id: uuid.describe('The workspace that owns it.'),
    name: z.string(),
    source: z.enum(Source),
    source_config: sourceConfig,
    source_revision_config: sourceRevisionConfig.describe('Of the latest revision.'),
    secrets: z.array(secret).describe('Values are masked for callers who may not read them.'),
    secret_references: z.array(secretReference).nullable(),
    status: z.enum(DEPLOYMENT_STATUSES),
    serving: z.boolean().describe('Whether something answers for it now, by what its holder says at this moment.'),
    status_message: z
      .string()
      .nullable()
      .describe(
        'Why nothing serves, what its teardown waits for or why that failed, or that its git integration is gone.',
      ),
    reason: reason.describe('The same in a word for machines.'),
    reason_since: time.nullable().describe('Since when that is so; null where nobody knows.'),
    why_not_live: z
      .string()
      .nullable()
      .describe(
        'Why what was asked for last is not live, in one sentence: what nothing serves for, or why an older revision does. Null: it is live.',
      ),
    last_change: deploymentChange
      .nullable()
      .describe(
        'What somebody did to it last, at `updated_at`. Null: a server that does not note it yet has changed it last.',
      ),
    health: health.nullable().describe('Null only for one that is being deleted.'),
    url: z.string().nullable().describe(URL_DESCRIPTION),
    image_version: z.string().nullable(),
    latest_revision_id: uuid.nullable(),
    active_revision_id: uuid.nullable().describe('The revision that serves.'),
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
    }
  },
)

export const deploymentList = pageSchema('DeploymentList', deployment)

const deletion = responseSchema(
  {},
  {
    deployment_id: uuid,
    status: z.int().describe('What a DELETE of this one deployment would have answered.'),
    detail: z.string().nullable().describe('Why it failed; null when it did not.'),
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
    upload_url: z.url().describe('Takes one PUT of a gzip tarball, for an hour. No API key is needed.'),
    object_path: z.string().describe('For source_revision_config.source_tarball_path.'),
  },
)

export const pushToken = responseSchema(
  { id: 'PushToken' },
  {
    token: z.string().describe('The password of `docker login`; any user name will do. Valid for 15 minutes.'),
    registry_url: z
      .string()
      .describe('Registry and repository: push to it, with a tag behind it, or to `registry_url/name:tag`.'),
  },
)
