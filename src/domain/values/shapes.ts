/**
 * Request shapes of deployments and revisions. Verbs parse with them; OpenAPI and GraphQL inputs are generated from
 * them.
 */
import { z } from 'zod'
import { DeploymentAccess, DeploymentType, RevisionStatus, Source } from '../../generated/prisma/enums.ts'
import {
  optional,
  printableName,
  queryBool,
  queryEnum,
  queryInt,
  queryList,
  queryText,
  queryUuid,
  uuid,
} from '../parsing/fields.ts'
import { resourceSpec } from './resource-spec.ts'

const short = z.string().min(1).max(2048)
const source = z.enum(Source).meta({ typeName: 'DeploymentSource' })

export const secret = z.object({ name: z.string(), value: z.string() }).meta({ id: 'Secret' })
export type Secret = z.output<typeof secret>

export const secretReference = z
  .object({
    name: z.string().min(1).max(256),
    secret_name: z.string().min(1).max(253),
    secret_key: z.string().min(1).max(253),
  })
  .meta({ id: 'SecretReference' })
export type SecretReference = z.output<typeof secretReference>

export const listenerConfig = z
  .object({ k8s_namespace: optional(z.string().min(1).max(63)) })
  .meta({ id: 'ListenerConfig' })

/** Members of `source_config` that each revision pins (revision-source.ts). */
export const buildMembers = {
  install_command: optional(z.string().max(4096)).describe(
    'Runs in the root of the repository. If absent, it is detected from the lock file. An empty text removes the stored command.',
  ),
  build_command: optional(z.string().max(4096)).describe(
    'Runs in the directory of the graph configuration file. An empty text removes the stored command.',
  ),
}

export const sourceConfig = z
  .object({
    integration_id: optional(uuid).describe(
      'The id of an integration from GET /v1/integrations/gitprovider/install. Only for gitprovider; cannot be changed.',
    ),
    repo_url: optional(short).describe('URL of the git repository. Only for gitprovider; cannot be changed.'),
    deployment_type: optional(z.enum(DeploymentType).meta({ typeName: 'DeploymentType' })).describe(
      'For gitprovider; default `dev`; cannot be changed. For internal_source and internal_container it is accepted and has no effect.',
    ),
    build_on_push: optional(z.boolean()).describe(
      'Build a new revision on a push to repo_ref, which must be a branch. Only for gitprovider.',
    ),
    custom_url: optional(z.url({ protocol: /^https?$/, error: 'Must be an http(s) URL.' }).max(2048)).describe(
      'You can set it only for external_container, and its host belongs to one deployment. For other sources it is set automatically.',
    ),
    resource_spec: optional(resourceSpec),
    listener_id: optional(uuid).describe(
      'The listener that runs the deployment. Only for external_container; cannot be changed.',
    ),
    listener_config: optional(listenerConfig),
    ...buildMembers,
  })
  .meta({ id: 'SourceConfig' })
export type SourceConfig = z.output<typeof sourceConfig>

export const revisionMembers = {
  repo_ref: optional(short).describe(
    'The name of a branch, or a tag as refs/tags/…. Only for gitprovider. A change creates a new revision.',
  ),
  graph_config_path: optional(short).describe(
    'Path of the graph configuration file in the repository. Only for gitprovider and internal_source, which require it on create. A change creates a new revision.',
  ),
  image_uri: optional(short).describe(
    'Container image. Only for external_container, which requires it on create, and internal_container. A change creates a new revision.',
  ),
  source_tarball_path: optional(short).describe(
    'Object path from the upload-url of this deployment. Only for internal_source. A change creates a new revision.',
  ),
}

export const sourceRevisionConfig = z
  .object({
    ...revisionMembers,
    repo_commit_sha: optional(z.string()).meta({
      readOnly: true,
      description: 'The commit that a build used, even if the build failed. Read-only: ignored in requests.',
    }),
  })
  .meta({ id: 'SourceRevisionConfig' })
export type SourceRevisionConfig = z.output<typeof sourceRevisionConfig>

const access = optional(z.enum(DeploymentAccess).meta({ typeName: 'DeploymentAccess' }))
const ACCESS_DESCRIPTION =
  'The callers that the agent gets requests of: `workspace` (credentials of its workspace), `organization` (of any workspace of its organization) or `public` (everyone). A change makes no revision and takes effect within 5 seconds.'

const MAX_IDLE_MINUTES = 10_080
const IDLE_DESCRIPTION =
  'An agent with `min_scale` 0 sleeps after this time without a request, and the next request starts it. Default: `APP_IDLE_MINUTES` of the server. A change makes no revision. Not on Kubernetes.'

export const createBody = z
  .object({
    name: printableName,
    source,
    source_config: sourceConfig,
    source_revision_config: sourceRevisionConfig,
    secrets: z.array(secret).max(1000),
    secret_references: optional(z.array(secretReference).max(1000)),
    access: access.describe(
      `${ACCESS_DESCRIPTION} Default: \`workspace\`; on Kubernetes without a door \`public\`, the only choice there.`,
    ),
    idle_minutes: optional(z.int().min(1).max(MAX_IDLE_MINUTES)).describe(IDLE_DESCRIPTION),
  })
  .meta({ id: 'DeploymentCreate' })

/** `name` and `source` may be sent back unchanged. Another value is a violation (docs/api-rules.md#errors). */
export const updateBody = z
  .object({
    name: optional(z.string()),
    source: optional(source),
    source_config: optional(sourceConfig),
    source_revision_config: optional(sourceRevisionConfig),
    secrets: optional(z.array(secret).max(1000)),
    secret_references: optional(z.array(secretReference).max(1000)),
    access: access.describe(`${ACCESS_DESCRIPTION} On Kubernetes without a door it must be \`public\`.`),
    idle_minutes: optional(z.int().min(0).max(MAX_IDLE_MINUTES)).describe(`${IDLE_DESCRIPTION} 0: the default.`),
  })
  .meta({ id: 'DeploymentUpdate' })
export type UpdateBody = z.output<typeof updateBody>

export const deploymentPath = z.object({ deployment_id: uuid })
export const revisionPath = z.object({ deployment_id: uuid, revision_id: uuid })

/** A deployment's status is derived, not stored (status.ts). */
export const DEPLOYMENT_STATUSES = ['AWAITING_DATABASE', 'READY', 'UNUSED', 'AWAITING_DELETE', 'UNKNOWN'] as const
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number]

export const deploymentFilter = {
  name_contains: queryText.describe('Only deployments whose name contains this text, ignoring case.'),
  name: queryText.describe('Only the deployment with exactly this name.'),
  status: queryEnum(DEPLOYMENT_STATUSES),
  serving: queryBool.describe('true: only deployments that serve requests now. false: only the others.'),
  latest_revision_status: queryList(
    z.enum(RevisionStatus),
    `Only deployments whose latest revision has one of these statuses: ${Object.values(RevisionStatus).join(', ')}.`,
  ),
  latest_revision_waits: queryBool.describe(
    'true: only deployments whose latest revision is open and waits for a worker or another condition. false: only the others.',
  ),
  source: queryEnum(Object.values(Source) as [Source, ...Source[]]),
  listener_id: queryUuid.describe('Only deployments of this listener.'),
  remote_reconciled: queryBool.describe('true: only deployments that a listener runs. false: only the others.'),
  tag_value_ids: queryList(uuid, 'Only deployments with at least one of these tags.'),
  image_version: queryText.describe('Only deployments whose active revision reported this version.'),
  deployment_type: queryEnum(['dev_free', 'dev', 'prod']),
  deployment_ids: queryList(uuid, 'Only deployments with these ids.'),
}

export const offsetQuery = {
  limit: queryInt(1, 100, 20),
  offset: queryInt(0, 2_147_483_647, 0).describe('The `offset` of the previous page.'),
}

export const revisionFilter = {
  status: queryList(
    z.enum(RevisionStatus),
    `Only revisions with one of these statuses: ${Object.values(RevisionStatus).join(', ')}.`,
  ),
  remote_reconciled: queryBool.describe('true: only if a listener runs the deployment. false: only if none does.'),
}
