/** Lists or streams changed deployments (docs/api-rules.md#what-changes-of-deployments). */
import { z } from 'zod'
import { changesInput, type DeploymentsChange, listDeploymentChanges } from '../../../domain/change-feed/log.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { streamDeploymentChanges } from '../../realtime/deployment-stream.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import type { StreamDefinition } from '../framework/stream.ts'
import { responseSchema } from '../responses/response-schema.ts'

const deploymentsChange = responseSchema(
  { id: 'DeploymentsChange' },
  {
    cursor: z.string().describe('Pass it as `after` to continue. In a stream it is the `id` of the event.'),
    deployment_ids: z
      .array(uuid)
      .describe(
        'The changed deployments, each listed once. A deployment that answers 404 is deleted. The list is empty if nothing has changed, and in the first answer to a call without `after`.',
      ),
  },
  ({ deploymentIds }: DeploymentsChange) => ({ deploymentIds: [...deploymentIds] }),
)

const stream: StreamDefinition<DeploymentsChange> = {
  name: 'deployments change',
  description:
    'each event lists up to 100 deployments that have changed, within a second of the change. Without `after` the first event lists none; no later change is missed.',
  schema: deploymentsChange,
  eventName: () => 'deployments.changed',
  open: streamDeploymentChanges,
}

export const deploymentChanges: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/deployments/changes',
    operationId: 'listDeploymentChanges',
    summary: 'List the deployments that have changed',
    description:
      'A change is anything that a deployment shows: fields, tags, revisions, health, or the reason why it waits. It may also follow from the passing of time alone. Several changes of one deployment are listed once.',
    tag: 'Deployments',
    input: changesInput,
    ...singleResponse(
      200,
      'The deployments that have changed after the cursor.',
      deploymentsChange,
      listDeploymentChanges,
    ),
    stream,
    errors: [404],
  }),
]
