/**
 * What REST answers (spec 2, contract 2 to 4, 9). The presenters' types, the OpenAPI document and the checks of
 * the tests all come from these schemas. The parts that are also sent come from the domain's own schemas.
 */
import { z } from 'zod'
import {
  DEPLOYMENT_STATUSES,
  secret,
  secretReference,
  sourceConfig,
  sourceRevisionConfig,
} from '../domain/deployments/schemas.ts'
import { URL_DESCRIPTION } from '../domain/deployments/url.ts'
import { uuid } from '../domain/fields.ts'
import { COMPUTE_TYPES, computeConfig } from '../domain/listeners/schemas.ts'
import { LISTENER_STATUSES } from '../domain/listeners/status.ts'
import { REASON_WORDS } from '../domain/reasons.ts'
import { LogLevel, RevisionStatus, Source } from '../generated/prisma/enums.ts'

const time = z.iso.datetime()

const reason = z.enum(REASON_WORDS).nullable()

const health = z
  .object({
    ready: z.int().describe('Replicas that serve, as it was last reported.'),
    desired: z.int().describe('Replicas that should.'),
    message: z.string().nullable().describe('Why not all of them serve.'),
    reason,
    observed_at: time.nullable().describe('Since when that was reported; null: nothing was yet.'),
  })
  .meta({ id: 'DeploymentHealth' })

export const deployment = z
  .object({
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
    health: health.nullable().describe('Null only for one that is being deleted.'),
    url: z.string().nullable().describe(URL_DESCRIPTION),
    image_version: z.string().nullable(),
    latest_revision_id: uuid.nullable(),
    active_revision_id: uuid.nullable().describe('The revision that serves.'),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Deployment' })

export const revision = z
  .object({
    id: uuid,
    deployment_id: uuid,
    status: z.enum(RevisionStatus),
    status_message: z.string().nullable().describe('Why it failed or was skipped, or what it waits for.'),
    reason: reason.describe('The same in a word for machines.'),
    reason_since: time.nullable().describe('Since when that is the reason.'),
    source: z.enum(Source),
    source_revision_config: sourceRevisionConfig,
    attempt: z.int().describe('1, and one more at each redeploy.'),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Revision' })

const nextPage = z.int().describe('The offset that fetches the next page.')
export const deploymentList = z
  .object({ resources: z.array(deployment), offset: nextPage })
  .meta({ id: 'DeploymentList' })
export const revisionList = z.object({ resources: z.array(revision), offset: nextPage }).meta({ id: 'RevisionList' })

export const uploadUrl = z
  .object({
    upload_url: z.url().describe('Takes one PUT of a gzip tarball, for an hour. No API key is needed.'),
    object_path: z.string().describe('For source_revision_config.source_tarball_path.'),
  })
  .meta({ id: 'UploadUrl' })

export const bulkDeletion = z
  .object({
    results: z.array(
      z.object({
        deployment_id: uuid,
        status: z.int().describe('What a DELETE of this one deployment would have answered.'),
        detail: z.string().nullable().describe('Why it failed; null when it did not.'),
      }),
    ),
  })
  .meta({ id: 'BulkDeletion' })

export const pushToken = z
  .object({
    token: z.string().describe('The password of `docker login`; any user name will do. Valid for 15 minutes.'),
    registry_url: z
      .string()
      .describe('Registry and repository: push to it, with a tag behind it, or to `registry_url/name:tag`.'),
  })
  .meta({ id: 'PushToken' })

export const logPage = z
  .object({
    logs: z.array(
      z.object({
        id: z.string().describe('Of the line, for good. As text they sort as the lines do within the deployment.'),
        revision_id: uuid,
        timestamp: time,
        level: z.enum(LogLevel),
        message: z.string(),
        attempt: z.int().describe('Of the revision.'),
      }),
    ),
    next_offset: z
      .string()
      .nullable()
      .describe(
        'Pass it as `offset` to go on. With `order=asc` it points behind the last line of this page and is null when the page is empty: to follow a log, keep the last one you were given and ask again. With `order=desc` it is null at the beginning of the log. With `last` it points behind the newest line.',
      ),
  })
  .meta({ id: 'LogPage' })

export const integration = z
  .object({
    id: uuid.describe('Use it as `source_config.integration_id`.'),
    installation_id: z.string().nullable().describe("The hosting provider's id of the installation, if it has one."),
    name: z.string(),
  })
  .meta({ id: 'Integration' })

export const installation = z
  .object({
    install_url: z.string().describe('Where a person installs the app at the git provider; leads back here.'),
    expires_at: time.describe('Until when they have to be back.'),
  })
  .meta({ id: 'Installation' })

export const repository = z
  .object({
    host_integration_id: uuid.describe('Use it as `source_config.integration_id`.'),
    id: z.int(),
    name: z.string(),
    owner: z.string(),
    url: z.string().describe('Use it as `source_config.repo_url`.'),
    default_branch: z.string().describe('Use it as `source_revision_config.repo_ref`.'),
  })
  .meta({ id: 'Repository' })

export const listener = z
  .object({
    id: uuid.describe('Use it as `source_config.listener_id`.'),
    compute_type: z.enum(COMPUTE_TYPES),
    compute_id: z.string(),
    compute_config: computeConfig,
    version: z.string().nullable().describe('Of the listener program, as it last reported it.'),
    status: z.enum(LISTENER_STATUSES).describe('OFFLINE: it has never called, or was not heard from for 90 seconds.'),
    last_seen_at: time.nullable().describe('null: it never called.'),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Listener' })

export const listenerList = z.object({ resources: z.array(listener), offset: nextPage }).meta({ id: 'ListenerList' })

const code = z.string().describe('A stable word for programs.')
const requestId = z.string().describe("Also in the header X-Request-Id and in the server's log.")

export const errorBody = z
  .object({ detail: z.string().describe('For people.'), code, request_id: requestId })
  .meta({ id: 'Error' })

export const validationErrorBody = z
  .object({
    detail: z.array(
      z.object({
        loc: z.array(z.union([z.string(), z.int()])).describe('Where: path, query, body or header; then the field.'),
        msg: z.string().describe('What is allowed.'),
        type: z.string().describe('A stable word for programs.'),
      }),
    ),
    code,
    request_id: requestId,
  })
  .meta({ id: 'ValidationError' })

/** What each error status means, in the document. */
export const errorAnswer: Record<number, string> = {
  400: "The revision can't be redeployed.",
  401: 'The credential is missing, unknown, expired or revoked.',
  403: "The credential's role is too low, it does not reach this workspace, or the plan does not allow this.",
  404: 'There is no such resource in this workspace.',
  409: 'The name or id is taken, the claim is lost, or the state of the resource forbids this.',
  413: 'The body is larger than 1 MiB.',
  415: 'The body is not JSON.',
  422: 'Path, query or body is not valid: everything that is wrong, at once.',
  429: 'Too much for this key: `Retry-After` says when to try again.',
  500: 'Internal error.',
  502: 'The git provider can’t be reached.',
  503: 'The server is too busy, or its database can’t be reached: `Retry-After` says when to try again. `OUTCOME_UNKNOWN` has none: what was to be written may have been, so look first.',
}
