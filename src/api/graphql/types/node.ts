/** `node` and `nodes`: any resource by its id. An unknown id and another tenant's id are null without an error. */
import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import { ValidationError } from '../../../domain/errors/errors.ts'
import { identifyNodes, type NodeType, readNodes } from '../../../domain/nodes.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'

const MAX_IDS = 100

interface Node {
  id: string
  __typename: NodeType
}

/** One statement finds the types; one more per type reads the rows. */
async function loadNodes(
  ctx: GraphQLContext,
  ids: readonly string[],
  info: GraphQLResolveInfo,
): Promise<(Node | null)[]> {
  const types = await identifyNodes(ctx, ids)
  const rows = new Map<string, Node>()
  await Promise.all(
    [...new Set(types.values())].map(async (typeName) => {
      const own = [...types].filter(([, type]) => type === typeName).map(([id]) => id)
      const selection = ['ApiKey', 'Session', 'WebhookEndpoint', 'AlertRule'].includes(typeName)
        ? {}
        : queryFromInfo({ context: ctx, info, typeName })
      for (const row of await readNodes(ctx, typeName, own, selection))
        rows.set(row.id, Object.assign(row, { __typename: typeName }))
    }),
  )
  return ids.map((id) => rows.get(id.toLowerCase()) ?? null)
}

builder.queryFields((t) => ({
  node: t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description: 'Any resource by its id. Null if the caller can’t read a resource with this id.',
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, ctx, info) => (await loadNodes(ctx, [id], info))[0],
  }),
  nodes: t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    description: `Up to ${MAX_IDS} resources by their ids, in the order of the ids.`,
    args: { ids: t.arg.idList({ required: true }) },
    complexity: ({ ids }) => ({ field: 1, multiplier: Math.max(ids.length, 1) }),
    resolve: (_root, { ids }, ctx, info) => {
      if (ids.length > MAX_IDS)
        throw new ValidationError([{ loc: ['query', 'ids'], msg: `At most ${MAX_IDS} ids.`, type: 'too_long' }])
      return loadNodes(ctx, ids, info)
    },
  }),
}))
