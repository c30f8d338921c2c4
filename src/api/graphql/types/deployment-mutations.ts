/** Mutations of deployments, their revisions and secrets, upload URLs and push tokens. */
import { createDeploymentLink, type DeploymentLink, linkInput } from '../../../domain/deployment-links.ts'
import { createDeployment, createInput } from '../../../domain/deployments/create.ts'
import {
  type BulkResult,
  deleteDeployment,
  deleteDeployments,
  deleteInput,
} from '../../../domain/deployments/delete.ts'
import {
  changeSecrets,
  changeSecretsInput,
  revealSecret,
  revealSecretInput,
  unsetSecretsInput,
} from '../../../domain/deployments/secrets.ts'
import {
  createRevision,
  restartDeployment,
  restartInput,
  updateDeployment,
  updateInput,
} from '../../../domain/deployments/update.ts'
import {
  ConflictError,
  NotFoundError,
  NotRedeployableError,
  PreconditionFailedError,
} from '../../../domain/errors/errors.ts'
import {
  interruptInput,
  interruptRevision,
  redeployInput,
  redeployRevision,
} from '../../../domain/rollouts/redeploy.ts'
import { createPushToken, type PushToken, pushTokenInput } from '../../../domain/sources/registry-tokens.ts'
import { createUploadUrl, type UploadUrl, uploadUrlInput } from '../../../domain/sources/uploads.ts'
import { setDeploymentTags, setTagsInput } from '../../../domain/tags.ts'
import type { Secret } from '../../../domain/values/shapes.ts'
import { builder } from '../builder/builder.ts'
import { deletion, mutation } from '../builder/mutation.ts'
import { toSnake } from '../builder/naming.ts'
import { readBack, withDeployment, withOptionalRevision, withRevision } from './written-deployment.ts'

const DeleteDeploymentOutcome = builder.objectRef<BulkResult>('DeleteDeploymentOutcome').implement({
  description: 'The outcome for one deployment.',
  fields: (t) => ({
    deploymentId: t.exposeID('deploymentId'),
    deleted: t.boolean({ resolve: ({ detail }) => detail === null }),
    message: t.exposeString('detail', {
      nullable: true,
      description: 'Why the deployment was not deleted. Null if it was.',
    }),
  }),
})

const DeleteDeploymentsSuccess = builder.objectRef<BulkResult[]>('DeleteDeploymentsSuccess').implement({
  fields: (t) => ({ results: t.field({ type: [DeleteDeploymentOutcome], resolve: (results) => results }) }),
})

const CreateUploadUrlSuccess = builder.objectRef<UploadUrl>('CreateUploadUrlSuccess').implement({
  fields: (t) => ({
    uploadUrl: t.exposeString('uploadUrl', {
      description: 'The URL accepts one PUT of a gzip tarball within one hour. No API key is needed.',
    }),
    objectPath: t.exposeString('objectPath', {
      description: 'The value for `sourceRevisionConfig.sourceTarballPath`.',
    }),
  }),
})

const CreatePushTokenSuccess = builder.objectRef<PushToken>('CreatePushTokenSuccess').implement({
  description: 'The token is valid for 15 minutes, for the deployment’s repository and the repositories below it.',
  fields: (t) => ({
    token: t.exposeString('token', { description: 'The password for `docker login`. Any user name works.' }),
    registryUrl: t.exposeString('registryUrl', {
      description: 'Push to `<registryUrl>:<tag>` or to `<registryUrl>/<name>:<tag>`.',
    }),
  }),
})

const CreateDeploymentLinkSuccess = builder.objectRef<DeploymentLink>('CreateDeploymentLinkSuccess').implement({
  description:
    'The link needs no key. It ends at `expiresAt`, and before that with the key or session that created it.',
  fields: (t) => ({
    url: t.exposeString('url', {
      description: 'Everyone who has the URL can use it until it ends. Of a public deployment it is the plain address.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the link ends. Null: the deployment is public.',
    }),
  }),
})

const DeleteDeploymentsInput = builder.inputType('DeleteDeploymentsInput', {
  fields: (t) => ({
    deploymentIds: t.idList({ required: true, description: 'At most 100 ids.' }),
    deleteTracingProject: t.boolean({
      description: 'Also delete the tracing projects of the same names. Default: false.',
    }),
    force: t.boolean({ description: 'Also drop deployments whose runtime can’t be torn down. For admins.' }),
  }),
})

builder.mutationFields((t) => ({
  deleteDeployments: t.field({
    type: DeleteDeploymentsSuccess,
    description: 'Deletes several deployments independently and reports the outcome of each.',
    errors: {},
    args: { input: t.arg({ type: DeleteDeploymentsInput, required: true }) },
    resolve: (_root, { input }, ctx) => deleteDeployments(ctx, { query: toSnake(input) }),
  }),
}))

mutation('createDeployment', {
  description: 'Creates a deployment with its first revision.',
  input: createInput,
  type: withRevision,
  errors: [NotFoundError, ConflictError],
  verb: createDeployment,
  readBack,
})

mutation('updateDeployment', {
  description:
    'Changes the given members and keeps the rest. A git ref, configuration path, image, tarball or secrets create a new revision. If only secrets change, the new revision reuses what runs, without a build.',
  input: updateInput,
  versioned: 'version',
  type: withOptionalRevision,
  errors: [NotFoundError, ConflictError, PreconditionFailedError],
  verb: updateDeployment,
  readBack,
})

mutation('restartDeployment', {
  description:
    'Replaces the processes of the running revision by new ones, without a new revision, build or rollout. The old processes serve until the new ones are ready. `restarting` is true until that is done.',
  input: restartInput,
  versioned: 'version',
  type: withDeployment,
  errors: [NotFoundError, ConflictError, PreconditionFailedError],
  verb: restartDeployment,
  readBack,
})

mutation('createUploadUrl', {
  description: 'Creates a URL for the upload of a source tarball. For `internal_source` deployments.',
  input: uploadUrlInput,
  type: CreateUploadUrlSuccess,
  errors: [NotFoundError, ConflictError],
  verb: createUploadUrl,
})

mutation('createDeploymentLink', {
  description: 'Creates a link that opens the agent in a browser. For viewers.',
  input: linkInput,
  type: CreateDeploymentLinkSuccess,
  errors: [NotFoundError, ConflictError],
  verb: createDeploymentLink,
})

mutation('createPushToken', {
  description: 'Creates a token that pushes images of an internal_container deployment to the configured registry.',
  input: pushTokenInput,
  type: CreatePushTokenSuccess,
  errors: [NotFoundError, ConflictError],
  verb: createPushToken,
})

mutation('deleteDeployment', {
  description: 'Deletes a deployment. Its name can be reused immediately. Deleting it again changes nothing.',
  input: deleteInput,
  versioned: 'version',
  ...deletion(
    'deployment_id',
    'The deletion has begun. Until the runtime is torn down the status is AWAITING_DELETE.',
    deleteDeployment,
  ),
  errors: [NotFoundError, PreconditionFailedError],
})

mutation('setDeploymentTags', {
  description: 'Replaces the tags of a deployment. Tags that the workspace does not have yet are created.',
  input: setTagsInput,
  versioned: 'version',
  type: withDeployment,
  errors: [NotFoundError, ConflictError, PreconditionFailedError],
  verb: setDeploymentTags,
  readBack,
})

mutation('createRevision', {
  description:
    'Changes the deployment like updateDeployment and always creates a new revision. If the input has no part of the source, the revision reuses what runs.',
  input: updateInput,
  versioned: 'version',
  type: withRevision,
  errors: [NotFoundError, ConflictError, PreconditionFailedError],
  verb: createRevision,
  readBack,
})

mutation('redeployRevision', {
  description: 'Runs the revision again and makes it active on success. Use it for rollbacks.',
  input: redeployInput,
  versioned: 'version',
  type: withRevision,
  errors: [NotFoundError, NotRedeployableError, PreconditionFailedError],
  verb: redeployRevision,
  readBack,
})

mutation('interruptRevision', {
  description: 'Stops the revision immediately. The serving revision is not affected.',
  input: interruptInput,
  type: withRevision,
  errors: [NotFoundError, ConflictError],
  verb: interruptRevision,
  readBack,
})

const RevealSecretSuccess = builder.objectRef<Secret>('RevealSecretSuccess').implement({
  description: 'The value of one secret. Don’t store it.',
  fields: (t) => ({ name: t.exposeString('name'), value: t.exposeString('value') }),
})

const CHANGE_ERRORS = [NotFoundError, ConflictError, PreconditionFailedError]

mutation('setSecrets', {
  description:
    'Sets secrets by name and removes those in `unset`, in one new revision without a build. All other secrets stay, including concurrent changes to them.',
  input: changeSecretsInput,
  versioned: 'version',
  type: withOptionalRevision,
  errors: CHANGE_ERRORS,
  verb: changeSecrets,
  readBack,
})

mutation('unsetSecrets', {
  description: 'Removes secrets by name, in one new revision without a build. All other secrets stay.',
  input: unsetSecretsInput,
  versioned: 'version',
  type: withOptionalRevision,
  errors: CHANGE_ERRORS,
  verb: changeSecrets,
  readBack,
})

mutation('revealSecret', {
  description:
    'Returns the value of one secret to callers who may read values. Over a session this is the only way. Each call is logged as the event `secret.revealed`.',
  input: revealSecretInput,
  type: RevealSecretSuccess,
  errors: [NotFoundError],
  verb: revealSecret,
})
