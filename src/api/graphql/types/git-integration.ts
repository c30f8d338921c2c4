/** Git integrations, their repositories and mutations (docs/sources.md#git-providers): the source of `integrationId` and `repoUrl`. */
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import { startInstallation } from '../../../domain/sources/integrations/installation.ts'
import { listIntegrations, removeInput, removeIntegration } from '../../../domain/sources/integrations/integrations.ts'
import {
  type Repository,
  repositoriesOf,
  repositoryCursor,
  searchRepositories,
  windowRepositories,
} from '../../../domain/sources/integrations/repositories.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { IntegrationKind } from '../builder/enums.ts'
import { deletion, mutation } from '../builder/mutation.ts'

const GitRepository = builder.objectRef<Repository>('GitRepository').implement({
  description: 'A git repository that an integration can access.',
  fields: (t) => ({
    integrationId: t.exposeID('hostIntegrationId', { description: 'The value for `sourceConfig.integrationId`.' }),
    name: t.exposeString('name'),
    owner: t.exposeString('owner'),
    url: t.exposeString('url', { description: 'The value for `sourceConfig.repoUrl`.' }),
    defaultBranch: t.exposeString('defaultBranch', {
      description: 'The default branch, a value for `sourceRevisionConfig.repoRef`.',
    }),
  }),
})

const GitIntegration = builder.prismaObject('Integration', {
  name: 'GitIntegration',
  description: 'A connection to git repositories.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    kind: t.expose('kind', { type: IntegrationKind }),
    name: t.exposeString('name'),
    installationId: t.string({
      nullable: true,
      description: 'The git provider’s id of the app installation.',
      resolve: ({ installationId }) => (installationId === null ? null : String(installationId)),
    }),
    account: t.exposeString('account', { nullable: true, description: 'The account that the app is installed for.' }),
    suspended: t.boolean({
      description: 'Whether the git provider suspended the installation. A suspended one can access no repository.',
      resolve: ({ suspendedAt }) => suspendedAt !== null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    repositories: t.connection(
      {
        type: GitRepository,
        // an integration whose provider fails must not hide the others
        nullable: true,
        description:
          'All repositories that it can access now, sorted by owner and name. Null with an error if the git provider does not answer.',
        args: {
          search: t.arg.string({
            description: 'Only repositories whose `owner/name` contains this text. Case is ignored.',
          }),
        },
        // each look-up calls the git provider
        complexity: (args) => ({ ...pageCost(args), field: 50 }),
        resolve: async (integration, { search, ...window }, ctx) => {
          const all = searchRepositories(await repositoriesOf(ctx, integration), search)
          return connectionOf(windowRepositories(all, window), window, repositoryCursor, () => all.length)
        },
      },
      { name: 'GitRepositoryConnection' },
      { name: 'GitRepositoryEdge' },
    ),
  }),
})

builder.queryField('gitIntegrations', (t) =>
  t.field({
    type: [GitIntegration],
    description: 'The workspace’s git integrations, oldest first.',
    resolve: (_root, _args, ctx) => listIntegrations(ctx, {}),
  }),
)

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

builder.mutationFields((t) => ({
  startGitIntegration: t.field({
    type: StartSuccess,
    description: 'Begins the installation of the app at the git provider.',
    errors: { types: [ConflictError] },
    resolve: (_root, _args, ctx) => startInstallation(ctx, {}),
  }),
}))

mutation('removeGitIntegration', {
  description: 'Removes an integration of the kind `app`. At the git provider the app stays installed.',
  input: removeInput,
  ...deletion(
    'integration_id',
    'The integration is removed. Its deployments keep running, and their `statusMessage` reports it.',
    removeIntegration,
  ),
  errors: [NotFoundError, ConflictError],
})
