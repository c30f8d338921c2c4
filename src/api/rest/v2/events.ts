/** Events of the workspace, of a deployment, of a revision (docs/api-rules.md#events-and-streams). */
import {
  listDeploymentEvents,
  listDeploymentEventsInput,
  listEventsInput,
  listRevisionEvents,
  listRevisionEventsInput,
  listWorkspaceEvents,
} from '../../../domain/events/page.ts'
import { eventPage } from '../answers/event.ts'
import { answering, type Operation, operation } from '../operation/operation.ts'

const tag = 'Events'

export const events: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/events',
    operationId: 'listEvents',
    summary: 'List the events of the workspace',
    tag,
    input: listEventsInput,
    ...answering(200, 'A page.', eventPage, listWorkspaceEvents),
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
    ...answering(200, 'A page.', eventPage, listDeploymentEvents),
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: '/v2/deployments/{deployment_id}/revisions/{revision_id}/events',
    operationId: 'listRevisionEvents',
    summary: 'List the events of a revision',
    tag,
    input: listRevisionEventsInput,
    ...answering(200, 'A page.', eventPage, listRevisionEvents),
    errors: [404],
  }),
]
