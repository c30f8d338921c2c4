/** `deploymentsChanged`: what shows of deployments, as it changes (docs/api-rules.md#what-changes-of-deployments). */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { AT_ONE_PLACE } from '../../../domain/change-feed/announce.ts'
import type { DeploymentsChange as Change } from '../../../domain/change-feed/page.ts'
import { readNodes } from '../../../domain/nodes/read.ts'
import type { Deployment as DeploymentRow } from '../../../domain/values/row-types.ts'
import { streamDeploymentChanges } from '../../realtime/deployment-stream.ts'
import { builder } from '../builder/builder.ts'
import { rejectExpensive } from '../builder/cost.ts'
import { Deployment } from './deployment.ts'

const DeploymentsChange = builder.objectRef<Change>('DeploymentsChange').implement({
  description:
    'Deployments that show something new. The first one of a stream without `after` has none: from it on nothing is missed.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Give it as `after` to go on from here.' }),
    deploymentIds: t.idList({
      description: `At most ${AT_ONE_PLACE}. Those that are not in \`deployments\` are gone.`,
      resolve: ({ deploymentIds }) => [...deploymentIds],
    }),
    deployments: t.field({
      type: [Deployment],
      description: 'They, as they are now, in no particular order.',
      complexity: { field: 1, multiplier: AT_ONE_PLACE },
      resolve: async ({ deploymentIds }, _args, ctx, info) =>
        deploymentIds.length === 0
          ? []
          : ((await readNodes(
              ctx,
              'Deployment',
              deploymentIds,
              queryFromInfo({ context: ctx, info }),
            )) as DeploymentRow[]),
    }),
  }),
})

builder.subscriptionField('deploymentsChanged', (t) =>
  t.field({
    type: DeploymentsChange,
    description:
      'Deployments whenever anything shows otherwise that a `Deployment` has: its fields and tags, its revisions, its health and ' +
      'replicas, whether it serves, what it waits for; also where only time has passed (a lease has ended, a listener has fallen ' +
      'silent). Within a second; what changes again meanwhile is told once. Without `after` from now on, with a first message that ' +
      'has no deployments: what was read before it may be old. With `after` everything since, across reconnects, restarts and ' +
      'servers. One that ends before its time ends with an error; its extensions have the `cursor` to go on from.',
    args: {
      after: t.arg.string({ description: 'The `cursor` of a change.' }),
      deploymentId: t.arg.id({ description: 'Only of this deployment.' }),
    },
    subscribe: (_root, { after, deploymentId }, ctx, info) => {
      rejectExpensive(ctx, info)
      const query = { after: ctx.lastEventId ?? after ?? undefined, deployment_id: deploymentId ?? undefined }
      return streamDeploymentChanges(ctx, { query }, ctx.relay)
    },
    resolve: (change) => change,
  }),
)
