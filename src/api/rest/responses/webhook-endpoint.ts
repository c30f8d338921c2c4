/** Webhook endpoints and their deliveries in REST (docs/webhooks.md). */
import { z } from 'zod'
import { uuid } from '../../../domain/parsing/fields.ts'
import { WEBHOOK_EVENT_TYPES } from '../../../domain/values/event-types.ts'
import { DELIVERY_STATES, type DeliveryView, deliveryState, type Replayed } from '../../../domain/webhooks/delivery.ts'
import { type EndpointView, WEBHOOK_FORMS, type WebhookForm } from '../../../domain/webhooks/endpoint.ts'
import type { TestOutcome, WithSecret } from '../../../domain/webhooks/manage.ts'
import { describeWords } from './actor.ts'
import { pageSchema, responseSchema, time } from './response-schema.ts'

export const webhookEndpoint = responseSchema(
  { id: 'WebhookEndpoint' },
  {
    id: uuid,
    name: z.string(),
    url: z.string(),
    form: z.enum(WEBHOOK_FORMS),
    event_types: z.array(z.string()),
    enabled: z.boolean(),
    silent_since: time
      .nullable()
      .describe('Since when the endpoint has not answered; null if it answered the last try.'),
    created_by: z.string().nullable(),
    created_at: time,
    updated_at: time,
  },
  (row: EndpointView) => ({ form: row.form as WebhookForm }),
)

export const webhookEndpointList = pageSchema('WebhookEndpointList', webhookEndpoint)

export const webhookEndpointWithSecret = responseSchema(
  { id: 'WebhookEndpointWithSecret' },
  {
    webhook_endpoint: webhookEndpoint,
    secret: z
      .string()
      .nullable()
      .describe(
        'The secret that verifies signatures. It is only in this answer. It is null in the answer to a repeat with the same `Idempotency-Key`.',
      ),
  },
  ({ row, secret }: WithSecret) => ({ webhookEndpoint: row, secret }),
)

const endpointDelivery = responseSchema(
  { id: 'EndpointDelivery' },
  {
    id: uuid,
    event_type: z.string().describe(describeWords(WEBHOOK_EVENT_TYPES)),
    sequence: z.string().describe('The number of the event in the log of the workspace.'),
    deployment_id: uuid.nullable(),
    state: z
      .enum(DELIVERY_STATES)
      .describe('`dead`: the delivery is not tried any more, because every try of 24 hours failed.'),
    tries: z.int(),
    answer: z.int().nullable().describe('The HTTP status of the last answer; null if the last try got no answer.'),
    error: z.string().nullable().describe('Why the last try failed, as a clause about the endpoint.'),
    created_at: time,
    tried_at: time.nullable(),
    delivered_at: time.nullable(),
    dead_at: time.nullable(),
  },
  (row: DeliveryView) => ({ eventType: row.type, sequence: String(row.sequence), state: deliveryState(row) }),
)

export const endpointDeliveryList = pageSchema('EndpointDeliveryList', endpointDelivery)

export const endpointTest = responseSchema(
  { id: 'WebhookEndpointTest' },
  {
    delivered: z.boolean(),
    answer: z.int().nullable().describe('The HTTP status; null if there was no answer.'),
    error: z.string().nullable().describe('Why the message was not delivered.'),
    milliseconds: z.int().describe('The duration of the call.'),
  },
  (outcome: TestOutcome) => outcome,
)

export const deliveriesReplayed = responseSchema(
  { id: 'DeliveriesReplayed' },
  { replayed: z.int().describe('The number of deliveries that are pending again.') },
  (result: Replayed) => result,
)
