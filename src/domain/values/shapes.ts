/**
 * The shapes of what is said about deployments and revisions (docs/deployments.md#deployments, docs/deployments.md#secrets, docs/api-rules.md#paging). Verbs parse
 * with them; REST's OpenAPI document and GraphQL's inputs are made from them.
 */
import { z } from 'zod'
import { DeploymentType, RevisionStatus, Source } from '../../generated/prisma/enums.ts'
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
// `typeName`: what GraphQL calls the type of a schema that has no `id`
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

/** Of those of a deployment's source, what each of its revisions pins (revision-source.ts). */
export const buildMembers = {
  install_command: optional(z.string().max(4096)).describe(
    'Runs from the root of the repository. Detected from the lock file if absent. An empty text takes the stored one away.',
  ),
  build_command: optional(z.string().max(4096)).describe(
    'Runs from the directory of the graph configuration file. An empty text takes the stored one away.',
  ),
}

export const sourceConfig = z
  .object({
    integration_id: optional(uuid).describe(
      'From GET /v1/integrations/gitprovider/install. Only for gitprovider; cannot be changed.',
    ),
    repo_url: optional(short).describe('URL of the git repository. Only for gitprovider; cannot be changed.'),
    deployment_type: optional(z.enum(DeploymentType).meta({ typeName: 'DeploymentType' })).describe(
      'For gitprovider, there `dev` by default; cannot be changed. For internal_source and internal_container it is accepted and has no effect.',
    ),
    build_on_push: optional(z.boolean()).describe(
      'Build a new revision on a push to repo_ref, which must be a branch. Only for gitprovider.',
    ),
    custom_url: optional(z.url({ protocol: /^https?$/, error: 'Must be an http(s) URL.' }).max(2048)).describe(
      'Can be set only for external_container; for other sources it is set automatically.',
    ),
    resource_spec: optional(resourceSpec),
    listener_id: optional(uuid).describe('The listener that runs it. Only for external_container; cannot be changed.'),
    listener_config: optional(listenerConfig),
    ...buildMembers,
  })
  .meta({ id: 'SourceConfig' })
export type SourceConfig = z.output<typeof sourceConfig>

/** What is said of a revision (revision-source.ts has what becomes of it). */
export const revisionMembers = {
  repo_ref: optional(short).describe(
    'A branch by its name, or a tag as refs/tags/…. Only for gitprovider. Makes a new revision.',
  ),
  graph_config_path: optional(short).describe(
    'Path of the graph configuration file in the repository. Only for gitprovider and internal_source, there required on create. Makes a new revision.',
  ),
  image_uri: optional(short).describe(
    'Container image. Only for external_container, there required on create, and internal_container. Makes a new revision.',
  ),
  source_tarball_path: optional(short).describe(
    'Object path from the upload-url of this deployment. Only for internal_source. Makes a new revision.',
  ),
}

export const sourceRevisionConfig = z
  .object({
    ...revisionMembers,
    repo_commit_sha: optional(z.string()).meta({
      readOnly: true,
      description: 'The exact commit, once a build has found it, however that ended. Read-only: ignored in requests.',
    }),
  })
  .meta({ id: 'SourceRevisionConfig' })
export type SourceRevisionConfig = z.output<typeof sourceRevisionConfig>

export const createBody = z
  .object({
    name: printableName,
    source,
    source_config: sourceConfig,
    source_revision_config: sourceRevisionConfig,
    secrets: z.array(secret).max(1000),
    secret_references: optional(z.array(secretReference).max(1000)),
  })
  .meta({ id: 'DeploymentCreate' })

/** `name` and `source` may be sent back as they are; another value is a violation (docs/api-rules.md#errors). */
export const updateBody = z
  .object({
    name: optional(z.string()),
    source: optional(source),
    source_config: optional(sourceConfig),
    source_revision_config: optional(sourceRevisionConfig),
    secrets: optional(z.array(secret).max(1000)),
    secret_references: optional(z.array(secretReference).max(1000)),
  })
  .meta({ id: 'DeploymentUpdate' })
export type UpdateBody = z.output<typeof updateBody>

export const deploymentPath = z.object({ deployment_id: uuid })
export const revisionPath = z.object({ deployment_id: uuid, revision_id: uuid })

/** A deployment's status is derived, never stored (see status.ts). */
export const DEPLOYMENT_STATUSES = ['AWAITING_DATABASE', 'READY', 'UNUSED', 'AWAITING_DELETE', 'UNKNOWN'] as const
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number]

export const deploymentFilter = {
  name_contains: queryText.describe('Only names that contain this text, in upper or lower case.'),
  name: queryText.describe('Only exactly this name.'),
  status: queryEnum(DEPLOYMENT_STATUSES),
  serving: queryBool.describe('true: only those for which something answers now; false: only the others.'),
  latest_revision_status: queryList(
    z.enum(RevisionStatus),
    `Only those whose latest revision has any of these: ${Object.values(RevisionStatus).join(', ')}.`,
  ),
  latest_revision_waits: queryBool.describe(
    'true: only those whose latest revision is open and waits, so that nobody works on it; false: only the others.',
  ),
  source: queryEnum(Object.values(Source) as [Source, ...Source[]]),
  listener_id: queryUuid.describe('Only those of this listener.'),
  remote_reconciled: queryBool.describe('true: only those that a listener works; false: only the others.'),
  tag_value_ids: queryList(uuid, 'Only those with any of these tags.'),
  image_version: queryText.describe('Only those whose active revision has reported this version.'),
  deployment_type: queryEnum(['dev_free', 'dev', 'prod']),
  deployment_ids: queryList(uuid, 'Only these.'),
}

export const offsetQuery = {
  limit: queryInt(1, 100, 20),
  offset: queryInt(0, 2_147_483_647, 0).describe('`offset` of the page before.'),
}

export const revisionFilter = {
  status: queryList(z.enum(RevisionStatus), `Only those of any of these: ${Object.values(RevisionStatus).join(', ')}.`),
  remote_reconciled: queryBool.describe('true: only if a listener works the deployment; false: only if none does.'),
}
