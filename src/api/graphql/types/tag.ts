/** Tags: key/value pairs of a workspace that deployments can have. The filter `tagValueIds` takes their ids. */
import { NEWEST_FIELDS, newestCursor, type Window } from '../../../domain/paging/paging.ts'
import { countTags, readTags } from '../../../domain/tags.ts'
import type { Tag as Row } from '../../../domain/values/row-types.ts'
import { builder } from '../builder/builder.ts'
import { rootPage, VERSIONED } from '../builder/row-fields.ts'

export const Tag = builder.prismaObject('Tag', {
  description: 'A key/value pair of the workspace that can be put on deployments.',
  interfaces: [builder.nodeInterfaceRef()],
  ...VERSIONED,
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
      ...rootPage<Row, Window>({
        table: 'Tag',
        sort: NEWEST_FIELDS,
        read: readTags,
        cursorOf: newestCursor,
        count: countTags,
      }),
    },
    { name: 'TagConnection' },
    { name: 'TagEdge' },
  ),
)
