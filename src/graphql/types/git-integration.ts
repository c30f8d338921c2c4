/** Git integrations and the repositories that they reach (contract 9): where `integrationId` and `repoUrl` come from. */
import { listIntegrations } from '../../domain/integrations/list.ts'
import { type Repository, repositoriesOf } from '../../domain/integrations/repositories.ts'
import { builder } from '../builder.ts'
import { IntegrationKind } from '../enums.ts'

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

export const GitIntegration = builder.prismaObject('Integration', {
  name: 'GitIntegration',
  description: 'Where git repositories come from.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    kind: t.expose('kind', { type: IntegrationKind }),
    name: t.exposeString('name'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    repositories: t.field({
      type: [GitRepository],
      description: 'All that it reaches now.',
      // looked up outside the database
      complexity: 50,
      resolve: (integration, _args, ctx) => repositoriesOf(ctx, integration),
    }),
  }),
})

builder.queryField('gitIntegrations', (t) =>
  t.field({
    type: [GitIntegration],
    description: 'The workspace’s git integrations, oldest first.',
    resolve: (_root, _args, ctx) => listIntegrations(ctx),
  }),
)
