/**
 * Lists or streams events of a workspace, deployment or revision (docs/api-rules.md#events-and-streams), or changed deployments
 * (docs/api-rules.md#what-changes-of-deployments).
 */

import { z } from 'zod'
import { changesInput, type DeploymentsChange, listDeploymentChanges } from '../../../domain/change-feed/log.ts'
import {
  listDeploymentEvents,
  listDeploymentEventsInput,
  listEventsInput,
  listRevisionEvents,
  listRevisionEventsInput,
  listWorkspaceEvents,
} from '../../../domain/events/page.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import { streamDeploymentChanges } from '../../realtime/deployment-stream.ts'
import {
  type StreamedEvent,
  streamDeploymentEvents,
  streamRevisionEvents,
  streamWorkspaceEvents,
} from '../../realtime/event-stream.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import type { StreamDefinition } from '../framework/stream.ts'
import { event, eventPage } from '../responses/event.ts'
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

/** Lists or streams changed deployments (docs/api-rules.md#what-changes-of-deployments). */
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

const tag = 'Events'

const eventStream = (
  description: string,
  open: StreamDefinition<StreamedEvent>['open'],
): StreamDefinition<StreamedEvent> => ({
  name: 'event',
  description,
  schema: event,
  eventName: ({ type }) => type,
  open,
})

export const events: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/events',
    operationId: 'listEvents',
    summary: 'List the events of the workspace',
    tag,
    input: listEventsInput,
    ...singleResponse(200, 'A page of events.', eventPage, listWorkspaceEvents),
    stream: eventStream('the stream has every event from now on.', streamWorkspaceEvents),
    errors: [],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/events',
    operationId: 'listDeploymentEvents',
    summary: 'List the events of a deployment and its revisions',
    description: 'Events of a torn-down deployment can be read as long as events are kept.',
    tag,
    input: listDeploymentEventsInput,
    ...singleResponse(200, 'A page of events.', eventPage, listDeploymentEvents),
    stream: eventStream(
      'the stream has every event from now on and ends when the deployment is torn down.',
      streamDeploymentEvents,
    ),
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/events',
    operationId: 'listRevisionEvents',
    summary: 'List the events of a revision',
    tag,
    input: listRevisionEventsInput,
    ...singleResponse(200, 'A page of events.', eventPage, listRevisionEvents),
    stream: eventStream(
      'the stream begins with the current status, without an `actor`. Each later status follows. It ends with a final status.',
      streamRevisionEvents,
    ),
    errors: [404],
  }),
]
