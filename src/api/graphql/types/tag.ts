/** Tags: key/value pairs of a workspace that deployments can have. The filter `tagValueIds` takes their ids. */
import { tags } from '../../../domain/tags.ts'
import { builder } from '../builder/builder.ts'
import { newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'

export const Tag = builder.prismaObject('Tag', {
  description: 'A key/value pair of the workspace that can be put on deployments.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id', { description: 'The id for the filter `tagValueIds`.' }),
    key: t.exposeString('key'),
    value: t.exposeString('value'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

builder.queryField('tags', (t) =>
  t.connection(
    {
      type: Tag,
      description: 'The workspace’s tags, newest first.',
      complexity: pageCost,
      resolve: (_root, args, ctx) => newestOf(tags, ctx, args),
    },
    { name: 'TagConnection' },
    { name: 'TagEdge' },
  ),
)
