/** Lists or streams events of a workspace, deployment or revision (docs/api-rules.md#events-and-streams). */
import {
  listDeploymentEvents,
  listDeploymentEventsInput,
  listEventsInput,
  listRevisionEvents,
  listRevisionEventsInput,
  listWorkspaceEvents,
} from '../../../domain/events/page.ts'
import {
  type StreamedEvent,
  streamDeploymentEvents,
  streamRevisionEvents,
  streamWorkspaceEvents,
} from '../../realtime/event-stream.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import type { StreamDefinition } from '../framework/stream.ts'
import { event, eventPage } from '../responses/event.ts'

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
