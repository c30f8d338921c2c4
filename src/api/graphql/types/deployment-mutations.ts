/** Mutations of deployments: create, update, delete (one or many), tags, upload URLs and push tokens. */

import { createDeployment, createInput } from '../../../domain/deployments/create.ts'
import {
  type BulkResult,
  deleteDeployment,
  deleteDeployments,
  deleteInput,
} from '../../../domain/deployments/delete.ts'
import { updateDeployment, updateInput } from '../../../domain/deployments/update.ts'
import { ConflictError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import { createPushToken, type PushToken, pushTokenInput } from '../../../domain/sources/registry-tokens.ts'
import { createUploadUrl, type UploadUrl, uploadUrlInput } from '../../../domain/sources/uploads.ts'
import { setDeploymentTags, setTagsInput } from '../../../domain/tags.ts'
import { builder } from '../builder/builder.ts'
import { toSnake } from '../builder/naming.ts'
import { verbInput } from '../builder/verb-input.ts'
import { readBack, withDeployment, withOptionalRevision, withRevision } from './written-deployment.ts'

const DeleteDeploymentSuccess = builder.objectRef<{ deploymentId: string }>('DeleteDeploymentSuccess').implement({
  description: 'The deletion has begun. Until the runtime is torn down the status is AWAITING_DELETE.',
  fields: (t) => ({ deploymentId: t.exposeID('deploymentId') }),
})

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

const create = verbInput('CreateDeploymentInput', createInput)
const update = verbInput('UpdateDeploymentInput', updateInput, 'version')
const remove = verbInput('DeleteDeploymentInput', deleteInput, 'version')
const upload = verbInput('CreateUploadUrlInput', uploadUrlInput)
const push = verbInput('CreatePushTokenInput', pushTokenInput)
const tag = verbInput('SetDeploymentTagsInput', setTagsInput, 'version')

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
  createDeployment: t.field({
    type: withRevision('CreateDeploymentSuccess'),
    description: 'Creates a deployment with its first revision.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => createDeployment(ctx, create.raw(input), readBack(ctx, info)),
  }),
  updateDeployment: t.field({
    type: withOptionalRevision('UpdateDeploymentSuccess'),
    description:
      'Changes the given members and keeps the rest. A git ref, configuration path, image, tarball or secrets create a new revision. If only secrets change, the new revision reuses what runs, without a build.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => updateDeployment(ctx, update.raw(input), readBack(ctx, info)),
  }),
  createUploadUrl: t.field({
    type: CreateUploadUrlSuccess,
    description: 'Creates a URL for the upload of a source tarball. For `internal_source` deployments.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: upload.type, required: true }) },
    resolve: (_root, { input }, ctx) => createUploadUrl(ctx, upload.raw(input)),
  }),
  createPushToken: t.field({
    type: CreatePushTokenSuccess,
    description: 'Creates a token that pushes images of an internal_container deployment to the configured registry.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: push.type, required: true }) },
    resolve: (_root, { input }, ctx) => createPushToken(ctx, push.raw(input)),
  }),
  deleteDeployment: t.field({
    type: DeleteDeploymentSuccess,
    description: 'Deletes a deployment. Its name can be reused immediately. Deleting it again changes nothing.',
    errors: { types: [NotFoundError, PreconditionFailedError] },
    args: { input: t.arg({ type: remove.type, required: true }) },
    resolve: async (_root, { input }, ctx) => {
      await deleteDeployment(ctx, remove.raw(input))
      return { deploymentId: input.deploymentId as string }
    },
  }),
  deleteDeployments: t.field({
    type: DeleteDeploymentsSuccess,
    description: 'Deletes several deployments independently and reports the outcome of each.',
    errors: {},
    args: { input: t.arg({ type: DeleteDeploymentsInput, required: true }) },
    resolve: (_root, { input }, ctx) => deleteDeployments(ctx, { query: toSnake(input) }),
  }),
  setDeploymentTags: t.field({
    type: withDeployment('SetDeploymentTagsSuccess'),
    description: 'Replaces the tags of a deployment. Tags that the workspace does not have yet are created.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: tag.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => setDeploymentTags(ctx, tag.raw(input), readBack(ctx, info)),
  }),
}))
