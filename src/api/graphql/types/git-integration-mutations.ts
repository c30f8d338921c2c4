/** Mutations of git integrations. */
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import { startInstallation } from '../../../domain/sources/integrations/installation.ts'
import { removeInput, removeIntegration } from '../../../domain/sources/integrations/integrations.ts'
import { builder } from '../builder/builder.ts'
import { verbInput } from '../builder/verb-input.ts'

const StartSuccess = builder
  .objectRef<{ installUrl: string; expiresAt: Date }>('StartGitIntegrationSuccess')
  .implement({
    fields: (t) => ({
      installUrl: t.exposeString('installUrl', {
        description: 'The URL where a person installs the app. It returns to this server.',
      }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The person must return before this time.' }),
    }),
  })

const RemoveSuccess = builder.objectRef<{ integrationId: string }>('RemoveGitIntegrationSuccess').implement({
  description: 'The integration is removed. Its deployments keep running, and their `statusMessage` reports it.',
  fields: (t) => ({ integrationId: t.exposeID('integrationId') }),
})

const remove = verbInput('RemoveGitIntegrationInput', removeInput)

builder.mutationFields((t) => ({
  startGitIntegration: t.field({
    type: StartSuccess,
    description: 'Begins the installation of the app at the git provider.',
    errors: { types: [ConflictError] },
    resolve: (_root, _args, ctx) => startInstallation(ctx, {}),
  }),
  removeGitIntegration: t.field({
    type: RemoveSuccess,
    description: 'Removes an integration of the kind `app`. At the git provider the app stays installed.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: remove.type, required: true }) },
    resolve: async (_root, { input }, ctx) => {
      await removeIntegration(ctx, remove.raw(input))
      return { integrationId: input.integrationId as string }
    },
  }),
}))
