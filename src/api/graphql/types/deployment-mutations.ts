/** Mutations of deployments, their revisions and secrets, upload URLs and push tokens. */
import { createDeploymentLink, type DeploymentLink, linkInput } from '../../../domain/deployment-links.ts'
import { createDeployment, createInput } from '../../../domain/deployments/create.ts'
import {
  type BulkResult,
  deleteDeployment,
  deleteDeployments,
  deleteInput,
} from '../../../domain/deployments/delete.ts'
import { restartDeployment, restartInput } from '../../../domain/deployments/restart.ts'
import {
  changeSecrets,
  changeSecretsInput,
  revealSecret,
  revealSecretInput,
  unsetSecretsInput,
} from '../../../domain/deployments/secrets.ts'
import { createRevision, updateDeployment, updateInput } from '../../../domain/deployments/update.ts'
import {
  ConflictError,
  NotFoundError,
  NotRedeployableError,
  PreconditionFailedError,
} from '../../../domain/errors/errors.ts'
import { interruptInput, interruptRevision } from '../../../domain/rollouts/interrupt.ts'
import { redeployInput, redeployRevision } from '../../../domain/rollouts/redeploy.ts'
import { createPushToken, type PushToken, pushTokenInput } from '../../../domain/sources/registry-tokens.ts'
import { createUploadUrl, type UploadUrl, uploadUrlInput } from '../../../domain/sources/uploads.ts'
import { setDeploymentTags, setTagsInput } from '../../../domain/tags.ts'
import type { Secret } from '../../../domain/values/shapes.ts'
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

const create = verbInput('CreateDeploymentInput', createInput)
const update = verbInput('UpdateDeploymentInput', updateInput, 'version')
const restart = verbInput('RestartDeploymentInput', restartInput, 'version')
const remove = verbInput('DeleteDeploymentInput', deleteInput, 'version')
const upload = verbInput('CreateUploadUrlInput', uploadUrlInput)
const link = verbInput('CreateDeploymentLinkInput', linkInput)
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
  restartDeployment: t.field({
    type: withDeployment('RestartDeploymentSuccess'),
    description:
      'Replaces the processes of the running revision by new ones, without a new revision, build or rollout. The old processes serve until the new ones are ready. `restarting` is true until that is done.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: restart.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => restartDeployment(ctx, restart.raw(input), readBack(ctx, info)),
  }),
  createUploadUrl: t.field({
    type: CreateUploadUrlSuccess,
    description: 'Creates a URL for the upload of a source tarball. For `internal_source` deployments.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: upload.type, required: true }) },
    resolve: (_root, { input }, ctx) => createUploadUrl(ctx, upload.raw(input)),
  }),
  createDeploymentLink: t.field({
    type: CreateDeploymentLinkSuccess,
    description: 'Creates a link that opens the agent in a browser. For viewers.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: link.type, required: true }) },
    resolve: (_root, { input }, ctx) => createDeploymentLink(ctx, link.raw(input)),
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

const revise = verbInput('CreateRevisionInput', updateInput, 'version')
const redeploy = verbInput('RedeployRevisionInput', redeployInput, 'version')
const interrupt = verbInput('InterruptRevisionInput', interruptInput)

builder.mutationFields((t) => ({
  createRevision: t.field({
    type: withRevision('CreateRevisionSuccess'),
    description:
      'Changes the deployment like updateDeployment and always creates a new revision. If the input has no part of the source, the revision reuses what runs.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: revise.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => createRevision(ctx, revise.raw(input), readBack(ctx, info)),
  }),
  redeployRevision: t.field({
    type: withRevision('RedeployRevisionSuccess'),
    description: 'Runs the revision again and makes it active on success. Use it for rollbacks.',
    errors: { types: [NotFoundError, NotRedeployableError, PreconditionFailedError] },
    args: { input: t.arg({ type: redeploy.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => redeployRevision(ctx, redeploy.raw(input), readBack(ctx, info)),
  }),
  interruptRevision: t.field({
    type: withRevision('InterruptRevisionSuccess'),
    description: 'Stops the revision immediately. The serving revision is not affected.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: interrupt.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => interruptRevision(ctx, interrupt.raw(input), readBack(ctx, info)),
  }),
}))

const RevealSecretSuccess = builder.objectRef<Secret>('RevealSecretSuccess').implement({
  description: 'The value of one secret. Don’t store it.',
  fields: (t) => ({ name: t.exposeString('name'), value: t.exposeString('value') }),
})

const set = verbInput('SetSecretsInput', changeSecretsInput, 'version')
const unset = verbInput('UnsetSecretsInput', unsetSecretsInput, 'version')
const reveal = verbInput('RevealSecretInput', revealSecretInput)

const CHANGE_ERRORS = { types: [NotFoundError, ConflictError, PreconditionFailedError] }

builder.mutationFields((t) => ({
  setSecrets: t.field({
    type: withOptionalRevision('SetSecretsSuccess'),
    description:
      'Sets secrets by name and removes those in `unset`, in one new revision without a build. All other secrets stay, including concurrent changes to them.',
    errors: CHANGE_ERRORS,
    args: { input: t.arg({ type: set.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => changeSecrets(ctx, set.raw(input), readBack(ctx, info)),
  }),
  unsetSecrets: t.field({
    type: withOptionalRevision('UnsetSecretsSuccess'),
    description: 'Removes secrets by name, in one new revision without a build. All other secrets stay.',
    errors: CHANGE_ERRORS,
    args: { input: t.arg({ type: unset.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => changeSecrets(ctx, unset.raw(input), readBack(ctx, info)),
  }),
  revealSecret: t.field({
    type: RevealSecretSuccess,
    description:
      'Returns the value of one secret to callers who may read values. Over a session this is the only way. Each call is logged as the event `secret.revealed`.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: reveal.type, required: true }) },
    resolve: (_root, { input }, ctx) => revealSecret(ctx, reveal.raw(input)),
  }),
}))
