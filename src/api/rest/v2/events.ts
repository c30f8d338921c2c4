/** Events of the workspace, of a deployment, of a revision (docs/api-rules.md#events-and-streams). */
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
    ...singleResponse(200, 'A page.', eventPage, listWorkspaceEvents),
    stream: eventStream('every event from now on.', streamWorkspaceEvents),
    errors: [],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/events',
    operationId: 'listDeploymentEvents',
    summary: 'List the events of a deployment and its revisions',
    description: 'Also of one that was torn down: for as long as events are kept.',
    tag,
    input: listDeploymentEventsInput,
    ...singleResponse(200, 'A page.', eventPage, listDeploymentEvents),
    stream: eventStream('every event from now on, until it is torn down.', streamDeploymentEvents),
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/events',
    operationId: 'listRevisionEvents',
    summary: 'List the events of a revision',
    tag,
    input: listRevisionEventsInput,
    ...singleResponse(200, 'A page.', eventPage, listRevisionEvents),
    stream: eventStream(
      'its status now, which has no `actor`, and each one that follows, until one that ends it.',
      streamRevisionEvents,
    ),
    errors: [404],
  }),
]
