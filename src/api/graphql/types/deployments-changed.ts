/** `deploymentsChanged`: deployments whose visible state changed (docs/api-rules.md#what-changes-of-deployments). */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { DEPLOYMENTS_PER_SEQUENCE } from '../../../domain/change-feed/announce.ts'
import type { DeploymentsChange as Change } from '../../../domain/change-feed/log.ts'
import { readNodes } from '../../../domain/nodes.ts'
import type { Deployment as DeploymentRow } from '../../../domain/values/row-types.ts'
import { streamDeploymentChanges } from '../../realtime/deployment-stream.ts'
import { builder } from '../builder/builder.ts'
import { rejectExpensive } from '../builder/cost.ts'
import { Deployment } from './deployment.ts'

const DeploymentsChange = builder.objectRef<Change>('DeploymentsChange').implement({
  description:
    'Deployments whose visible state changed. A stream without `after` begins with an empty change. No change after it is missed.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Pass it as `after` to continue from here.' }),
    deploymentIds: t.idList({
      description: `At most ${DEPLOYMENTS_PER_SEQUENCE} ids. An id that is missing in \`deployments\` is deleted.`,
      resolve: ({ deploymentIds }) => [...deploymentIds],
    }),
    deployments: t.field({
      type: [Deployment],
      description: 'The current state of these deployments, in no particular order.',
      complexity: { field: 1, multiplier: DEPLOYMENTS_PER_SEQUENCE },
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
      'Sends deployments whenever any visible part of a `Deployment` changes: fields, tags, revisions, health, replicas, whether it ' +
      'serves, and what it waits for. This includes changes by time alone: an expired lease or a silent listener. Changes arrive ' +
      'within a second; several changes in that time arrive as one. Without `after` the stream begins now, with a first message ' +
      'without deployments; read state again after it. With `after` it sends everything since then, across reconnects, restarts ' +
      'and servers. A stream that ends early ends with an error. Its extensions have the `cursor` to continue from.',
    args: {
      after: t.arg.string({ description: 'The `cursor` of a change.' }),
      deploymentId: t.arg.id({ description: 'Only changes of this deployment.' }),
    },
    subscribe: (_root, { after, deploymentId }, ctx, info) => {
      rejectExpensive(ctx, info)
      const query = { after: ctx.lastEventId ?? after ?? undefined, deployment_id: deploymentId ?? undefined }
      return streamDeploymentChanges(ctx, { query }, ctx.relay)
    },
    resolve: (change) => change,
  }),
)
