/** Tags: key/value pairs of a workspace that deployments can have. The filter `tagValueIds` takes their ids. */
import { newestCursor } from '../../../domain/paging/newest-first.ts'
import { countTags, windowTags } from '../../../domain/tags/tags.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf } from '../builder/connection.ts'
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
      resolve: async (_root, args, ctx) =>
        connectionOf(await windowTags(ctx, args), args, newestCursor, () => countTags(ctx)),
    },
    { name: 'TagConnection' },
    { name: 'TagEdge' },
  ),
)
