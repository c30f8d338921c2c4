/** Which deployments show something new, asked for or followed (docs/api-rules.md#what-changes-of-deployments). */
import { changesInput, type DeploymentsChange, listDeploymentChanges } from '../../../domain/change-feed/page.ts'
import { streamDeploymentChanges } from '../../realtime/deployment-stream.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import type { StreamDefinition } from '../framework/stream.ts'
import { deploymentsChange } from '../responses/deployment-changes.ts'

const stream: StreamDefinition<DeploymentsChange> = {
  name: 'deployments change',
  description:
    'deployments as they change, within a second, up to a hundred in a message; without `after` first one that has none, from which on nothing is missed.',
  schema: deploymentsChange,
  eventName: () => 'deployments.changed',
  open: streamDeploymentChanges,
}

export const deploymentChanges: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/deployments/changes',
    operationId: 'listDeploymentChanges',
    summary: 'List which deployments show something new',
    description:
      'Whatever it is that a deployment shows: its fields and tags, its revisions, its health, what it waits for; also where only time has passed. Of several changes of one it is told once.',
    tag: 'Deployments',
    input: changesInput,
    ...singleResponse(200, 'Those that have changed behind `after`.', deploymentsChange, listDeploymentChanges),
    stream,
    errors: [404],
  }),
]
