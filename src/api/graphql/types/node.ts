/**
 * `node` and `nodes`: any resource by its id. An unknown id and another tenant's id are null without an error. Links from an event
 * to its subject: the current deployment and revision, and the names of other subjects. Each is read for a whole list together.
 */
import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import { ValidationError } from '../../../domain/errors/errors.ts'
import { nameSubjects, subjectOf } from '../../../domain/events/list.ts'
import { identifyNodes, type NodeType, readNodes } from '../../../domain/nodes.ts'
import type { Deployment as DeploymentRow, Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { loadBatched, loadRow } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { Deployment } from './deployment.ts'
import { Event } from './event.ts'
import { Revision } from './revision.ts'

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

builder.objectFields(Event, (t) => ({
  deployment: t.prismaField({
    type: Deployment,
    nullable: true,
    description: 'The current deployment. Null after it is deleted.',
    resolve: (query, event, _args, ctx) => loadRow<DeploymentRow>(ctx, 'Deployment', event.deploymentId, query),
  }),
  revision: t.prismaField({
    type: Revision,
    nullable: true,
    description: 'The current revision. Null after it is deleted.',
    resolve: (query, event, _args, ctx) => loadRow<RevisionRow>(ctx, 'Revision', event.revisionId, query),
  }),
  subjectName: t.string({
    nullable: true,
    description:
      'The current name of the deployment or of the resource in `subjectId`. Null if the resource is deleted or has no name. Tokens of people are never named.',
    resolve: async (event, _args, ctx) => {
      const subject = subjectOf(event)
      if (!subject) return null
      return (await loadBatched(ctx, 'names of events', subject, (subjects) => nameSubjects(ctx, subjects))) ?? null
    },
  }),
}))
