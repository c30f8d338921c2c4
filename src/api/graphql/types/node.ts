/** `node` and `nodes`: anything by its id alone. What is unknown or another tenant's is null, without an error. */
import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import { ValidationError } from '../../../domain/errors/errors.ts'
import { identifyNodes, type NodeType } from '../../../domain/nodes/identify.ts'
import { readNodes } from '../../../domain/nodes/read.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'

const MAX_IDS = 100

interface Node {
  id: string
  __typename: NodeType
}

/** One statement finds the types, and one for each type that occurs reads the rows. */
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
      const selection =
        typeName === 'ApiKey' || typeName === 'Session' ? {} : queryFromInfo({ context: ctx, info, typeName })
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
    description: 'Anything that has an id; null if there is nothing of this id for the caller.',
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, ctx, info) => (await loadNodes(ctx, [id], info))[0],
  }),
  nodes: t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: false, items: true },
    description: `The same for up to ${MAX_IDS} ids, in their order.`,
    args: { ids: t.arg.idList({ required: true }) },
    complexity: ({ ids }) => ({ field: 1, multiplier: Math.max(ids.length, 1) }),
    resolve: (_root, { ids }, ctx, info) => {
      if (ids.length > MAX_IDS)
        throw new ValidationError([{ loc: ['query', 'ids'], msg: `At most ${MAX_IDS} ids.`, type: 'too_long' }])
      return loadNodes(ctx, ids, info)
    },
  }),
}))
