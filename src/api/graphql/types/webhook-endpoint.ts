/** Webhook endpoints and their deliveries (docs/webhooks.md). For admins, because a URL may contain a secret. */
import { ConflictError, DomainError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import { newestCursor } from '../../../domain/paging/paging.ts'
import {
  type DeliveryView,
  deliveryState,
  deliveryWindow,
  type Replayed,
  replayDeliveries,
  replayInput,
} from '../../../domain/webhooks/delivery.ts'
import {
  type EndpointView,
  endpoints,
  type WebhookForm as Form,
  getEndpoint,
} from '../../../domain/webhooks/endpoint.ts'
import {
  createEndpoint,
  createInput,
  deleteEndpoint,
  deleteInput,
  rotateEndpointSecret,
  rotateInput,
  type TestOutcome,
  testEndpoint,
  testInput,
  updateEndpoint,
  updateInput,
  type WithSecret,
} from '../../../domain/webhooks/manage.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf, newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { DeliveryState, WebhookForm } from '../builder/enums.ts'
import { deletion, mutation, resultAs, VERSION_DESCRIPTION } from '../builder/mutation.ts'

const WebhookEndpoint = builder.objectRef<EndpointView>('WebhookEndpoint').implement({
  description: 'A receiver of the workspace’s events. Its secret is shown once, when it is made.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    url: t.exposeString('url'),
    form: t.field({ type: WebhookForm, resolve: ({ form }) => form as Form }),
    eventTypes: t.exposeStringList('eventTypes', {
      description: 'The events that it gets: types, `<resource>.*` for all types of a resource, or `*`.',
    }),
    enabled: t.exposeBoolean('enabled'),
    silentSince: t.expose('silentSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when the endpoint has not answered. Null: it answered the last try.',
    }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    version: t.exposeInt('editVersion', { description: VERSION_DESCRIPTION }),
  }),
})

const EndpointDelivery = builder.objectRef<DeliveryView>('EndpointDelivery').implement({
  description: 'One event for one webhook endpoint.',
  fields: (t) => ({
    id: t.exposeID('id'),
    eventType: t.exposeString('type'),
    sequence: t.string({
      description: 'The number of the event in the log of the workspace.',
      resolve: ({ sequence }) => String(sequence),
    }),
    deploymentId: t.exposeID('deploymentId', { nullable: true }),
    state: t.field({ type: DeliveryState, resolve: deliveryState }),
    tries: t.exposeInt('tries'),
    answer: t.exposeInt('answer', {
      nullable: true,
      description: 'The HTTP status of the last answer. Null: the last try got no answer.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Why the last try failed, as a clause about the endpoint.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    triedAt: t.expose('triedAt', { type: 'DateTime', nullable: true }),
    deliveredAt: t.expose('deliveredAt', { type: 'DateTime', nullable: true }),
    deadAt: t.expose('deadAt', { type: 'DateTime', nullable: true }),
  }),
})

builder.queryFields((t) => ({
  webhookEndpoint: t.field({
    type: WebhookEndpoint,
    nullable: true,
    description: 'One webhook endpoint. NOT_FOUND if the id is unknown. For admins.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, ctx) => getEndpoint(ctx, { path: { webhook_endpoint_id: id } }),
  }),
  webhookEndpoints: t.connection(
    {
      type: WebhookEndpoint,
      description: 'The workspace’s webhook endpoints, newest first. For admins.',
      complexity: pageCost,
      resolve: (_root, args, ctx) => newestOf(endpoints, ctx, args),
    },
    { name: 'WebhookEndpointConnection' },
    { name: 'WebhookEndpointEdge' },
  ),
  endpointDeliveries: t.connection(
    {
      type: EndpointDelivery,
      description: 'The deliveries of a webhook endpoint, newest first. For admins.',
      args: {
        webhookEndpointId: t.arg.id({ required: true }),
        state: t.arg({ type: DeliveryState, description: 'Only deliveries in this state.' }),
      },
      complexity: pageCost,
      resolve: async (_root, { webhookEndpointId, state, ...window }, ctx) => {
        const { slice, count } = await deliveryWindow(ctx, webhookEndpointId, state ?? undefined, window)
        return connectionOf(slice, window, newestCursor, count)
      },
    },
    { name: 'EndpointDeliveryConnection' },
    { name: 'EndpointDeliveryEdge' },
  ),
}))

/** A success type with an endpoint and its new secret. */
const withSecret = (name: string) =>
  builder.objectRef<WithSecret>(name).implement({
    fields: (t) => ({
      webhookEndpoint: t.expose('row', { type: WebhookEndpoint }),
      secret: t.string({
        nullable: true,
        description:
          'The secret that verifies signatures. It is only in this answer. If the call is repeated with its Idempotency-Key, this is null with the error ALREADY_SHOWN.',
        resolve: ({ row, secret }) => {
          if (secret === null) throw alreadyShown(row)
          return secret
        },
      }),
    }),
  })

const alreadyShown = ({ name }: EndpointView) =>
  new DomainError(
    'ALREADY_SHOWN',
    `The secret of the webhook endpoint '${name}' was only in the first answer to this call. If you lost it, rotate the secret.`,
  )

mutation('createWebhookEndpoint', {
  description: 'Creates a webhook endpoint, which gets the events that are committed after this call. For admins.',
  input: createInput,
  type: withSecret,
  errors: [ConflictError],
  verb: createEndpoint,
})

mutation('updateWebhookEndpoint', {
  description: 'Changes the given members and keeps the rest. For admins.',
  input: updateInput,
  versioned: 'version',
  type: resultAs('webhookEndpoint', WebhookEndpoint),
  errors: [NotFoundError, PreconditionFailedError],
  verb: updateEndpoint,
})

mutation('deleteWebhookEndpoint', {
  description: 'Deletes a webhook endpoint with its deliveries. For admins.',
  input: deleteInput,
  versioned: 'version',
  ...deletion('webhook_endpoint_id', 'The endpoint and its deliveries are deleted.', deleteEndpoint),
  errors: [NotFoundError, PreconditionFailedError],
})

mutation('rotateWebhookEndpointSecret', {
  description: 'Makes a new secret. For 24 hours messages are also signed with the old one. For admins.',
  input: rotateInput,
  versioned: 'version',
  type: withSecret,
  errors: [NotFoundError, PreconditionFailedError],
  verb: rotateEndpointSecret,
})

mutation('testWebhookEndpoint', {
  description: 'Sends a signed test message and returns the outcome. For admins.',
  input: testInput,
  type: (name) =>
    builder.objectRef<TestOutcome>(name).implement({
      fields: (t) => ({
        delivered: t.exposeBoolean('delivered'),
        answer: t.exposeInt('answer', { nullable: true, description: 'The HTTP status. Null: there was no answer.' }),
        error: t.exposeString('error', { nullable: true, description: 'Why the message was not delivered.' }),
        milliseconds: t.exposeInt('milliseconds', { description: 'The duration of the call.' }),
      }),
    }),
  errors: [NotFoundError],
  verb: testEndpoint,
})

mutation('replayEndpointDeliveries', {
  description: 'Sends deliveries again: the given ones, or all dead letters of the endpoint. For admins.',
  input: replayInput,
  type: (name) =>
    builder.objectRef<Replayed>(name).implement({
      fields: (t) => ({
        replayed: t.exposeInt('replayed', { description: 'The number of deliveries that are pending again.' }),
      }),
    }),
  errors: [NotFoundError],
  verb: replayDeliveries,
})
