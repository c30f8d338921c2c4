/** Push tokens of `internal_container` deployments. */
import { ConflictError, NotFoundError } from '../../domain/errors.ts'
import { createPushToken, type PushToken, pushTokenInput } from '../../domain/registry/push-token.ts'
import { builder } from '../builder.ts'
import { verbInput } from '../verb-input.ts'

const CreatePushTokenSuccess = builder.objectRef<PushToken>('CreatePushTokenSuccess').implement({
  description: 'Valid for 15 minutes, for the repository of the deployment and those below it.',
  fields: (t) => ({
    token: t.exposeString('token', { description: 'The password of `docker login`; any user name will do.' }),
    registryUrl: t.exposeString('registryUrl', {
      description: 'Push to it, with a tag behind it, or to `<registryUrl>/<name>:<tag>`.',
    }),
  }),
})

const input = verbInput('CreatePushTokenInput', pushTokenInput)

builder.mutationField('createPushToken', (t) =>
  t.field({
    type: CreatePushTokenSuccess,
    description: 'A token that pushes images of an internal_container deployment to the configured registry.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: input.type, required: true }) },
    resolve: (_root, args, ctx) => createPushToken(ctx, input.raw(args.input)),
  }),
)
