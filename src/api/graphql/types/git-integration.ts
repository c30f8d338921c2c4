/** Git integrations and the repositories that they reach (docs/sources.md#git-providers): where `integrationId` and `repoUrl` come from. */
import { listIntegrations } from '../../../domain/sources/integrations/list.ts'
import { type Repository, repositoriesOf } from '../../../domain/sources/integrations/repositories.ts'
import {
  repositoryCursor,
  searchRepositories,
  windowRepositories,
} from '../../../domain/sources/integrations/repository-window.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { IntegrationKind } from '../builder/enums.ts'

const GitRepository = builder.objectRef<Repository>('GitRepository').implement({
  description: 'A git repository that an integration reaches.',
  fields: (t) => ({
    integrationId: t.exposeID('hostIntegrationId', { description: 'For `sourceConfig.integrationId`.' }),
    name: t.exposeString('name'),
    owner: t.exposeString('owner'),
    url: t.exposeString('url', { description: 'For `sourceConfig.repoUrl`.' }),
    defaultBranch: t.exposeString('defaultBranch', { description: 'For `sourceRevisionConfig.repoRef`.' }),
  }),
})

const GitIntegration = builder.prismaObject('Integration', {
  name: 'GitIntegration',
  description: 'Where git repositories come from.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    kind: t.expose('kind', { type: IntegrationKind }),
    name: t.exposeString('name'),
    installationId: t.string({
      nullable: true,
      description: 'Of an app: the git provider’s id of the installation.',
      resolve: ({ installationId }) => (installationId === null ? null : String(installationId)),
    }),
    account: t.exposeString('account', { nullable: true, description: 'Of an app: whom it is installed for.' }),
    suspended: t.boolean({
      description: 'The git provider has suspended the installation: it reaches nothing now.',
      resolve: ({ suspendedAt }) => suspendedAt !== null,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    repositories: t.connection(
      {
        type: GitRepository,
        // the one integration whose provider does not answer must not hide the others
        nullable: true,
        description:
          'All that it reaches now, by owner and name. Null, with an error, when the git provider can’t say.',
        args: {
          search: t.arg.string({ description: 'Only those with this in their `owner/name`, whatever the case.' }),
        },
        // looked up outside the database
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
