/** Operations on webhook endpoints (docs/webhooks.md). */
import {
  listDeliveries,
  listInput as listDeliveriesInput,
  replayDeliveries,
  replayInput,
} from '../../../domain/webhooks/delivery.ts'
import {
  type EndpointView,
  getEndpoint,
  getInput,
  listEndpoints,
  listInput,
} from '../../../domain/webhooks/endpoint.ts'
import {
  createEndpoint,
  createInput,
  deleteEndpoint,
  deleteInput,
  rotateEndpointSecret,
  rotateInput,
  testEndpoint,
  testInput,
  updateEndpoint,
  updateInput,
} from '../../../domain/webhooks/manage.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import {
  deliveriesReplayed,
  endpointDeliveryList,
  endpointTest,
  webhookEndpoint,
  webhookEndpointList,
  webhookEndpointWithSecret,
} from '../responses/webhook-endpoint.ts'

const tag = 'Webhook endpoints'
const ONE = '/v2/webhook-endpoints/{webhook_endpoint_id}'

/** The answer contains a secret. The stored answer of a call with an Idempotency-Key does not. */
const shownOnce = <const S extends 200 | 201>(status: S, description: string) => ({
  headers: { 'cache-control': 'no-store' },
  responses: { [status]: { description, schema: webhookEndpointWithSecret } } as Record<
    S,
    { description: string; schema: typeof webhookEndpointWithSecret }
  >,
  present: (row: EndpointView) => ({ status, body: { row, secret: null } }) as never,
})

export const webhookEndpoints: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/webhook-endpoints',
    operationId: 'createWebhookEndpoint',
    summary: 'Create a webhook endpoint',
    description:
      'The endpoint gets the events of the workspace that are committed after this call: each at least once, in order per deployment, signed by Standard Webhooks. Needs the role `admin`.',
    tag,
    input: createInput,
    ...shownOnce(201, 'The endpoint with its secret.'),
    errors: [409],
    handle: async (ctx, raw) => ({ status: 201, body: await createEndpoint(ctx, raw) }),
  }),
  operation({
    method: 'GET',
    path: '/v2/webhook-endpoints',
    operationId: 'listWebhookEndpoints',
    summary: 'List webhook endpoints, newest first',
    description: 'Needs the role `admin`, because a URL may contain a secret.',
    tag,
    input: listInput,
    ...singleResponse(200, 'A page of webhook endpoints.', webhookEndpointList, listEndpoints),
    errors: [],
  }),
  operation({
    method: 'GET',
    path: ONE,
    operationId: 'getWebhookEndpoint',
    summary: 'Get a webhook endpoint',
    description: 'Needs the role `admin`.',
    tag,
    input: getInput,
    ...singleResponse(200, 'The endpoint.', webhookEndpoint, getEndpoint),
    errors: [404],
  }),
  operation({
    method: 'PATCH',
    path: ONE,
    operationId: 'updateWebhookEndpoint',
    summary: 'Update a webhook endpoint',
    description: 'An absent or null member keeps the stored value. Needs the role `admin`.',
    tag,
    input: updateInput,
    ifMatch: true,
    ...singleResponse(200, 'The updated endpoint.', webhookEndpoint, updateEndpoint),
    errors: [404],
  }),
  operation({
    method: 'DELETE',
    path: ONE,
    operationId: 'deleteWebhookEndpoint',
    summary: 'Delete a webhook endpoint',
    description: 'Its deliveries and dead letters are deleted, too. Needs the role `admin`.',
    tag,
    input: deleteInput,
    ifMatch: true,
    ...noContent('The endpoint is deleted.', deleteEndpoint),
    errors: [404],
  }),
  operation({
    method: 'POST',
    path: `${ONE}/rotate-secret`,
    operationId: 'rotateWebhookEndpointSecret',
    summary: 'Make a new secret',
    description: 'For 24 hours messages are also signed with the old secret. Needs the role `admin`.',
    tag,
    input: rotateInput,
    ifMatch: true,
    ...shownOnce(200, 'The endpoint with its new secret.'),
    errors: [404],
    handle: async (ctx, raw) => ({ status: 200, body: await rotateEndpointSecret(ctx, raw) }),
  }),
  operation({
    method: 'POST',
    path: `${ONE}/test`,
    operationId: 'testWebhookEndpoint',
    summary: 'Send a test message',
    description:
      'Sends a signed message of the type `webhook_endpoint.test` and returns the outcome. Needs the role `admin`.',
    tag,
    input: testInput,
    ...singleResponse(200, 'The outcome.', endpointTest, testEndpoint),
    idempotency: 'no-effect',
    errors: [404],
  }),
  operation({
    method: 'GET',
    path: `${ONE}/deliveries`,
    operationId: 'listEndpointDeliveries',
    summary: 'List the deliveries of a webhook endpoint, newest first',
    description: '`state=dead` lists the dead letters. Needs the role `admin`.',
    tag,
    input: listDeliveriesInput,
    ...singleResponse(200, 'A page of deliveries.', endpointDeliveryList, listDeliveries),
    errors: [404],
  }),
  operation({
    method: 'POST',
    path: `${ONE}/replay`,
    operationId: 'replayEndpointDeliveries',
    summary: 'Send deliveries again',
    description:
      'Without `delivery_ids` all dead letters are sent again. They are tried for another 24 hours, in the order of their events. Needs the role `admin`.',
    tag,
    input: replayInput,
    ...singleResponse(200, 'The number of deliveries.', deliveriesReplayed, replayDeliveries),
    errors: [404],
  }),
]
