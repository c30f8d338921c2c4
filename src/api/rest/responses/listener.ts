/** Listeners in REST (docs/deployments.md#listeners, docs/protocol.md). */
import { z } from 'zod'
import { LISTENER_STATUSES, listenerStatus } from '../../../domain/listeners/read.ts'
import { COMPUTE_TYPES, type ComputeType, computeConfig } from '../../../domain/listeners/schemas.ts'
import { uuid } from '../../../domain/parsing/fields.ts'
import type { Listener } from '../../../domain/values/row-types.ts'
import { pageSchema, responseSchema, shapeEncoder, time } from './response-schema.ts'

const configOf = shapeEncoder(computeConfig.shape)

export const listener = responseSchema(
  { id: 'Listener' },
  {
    id: uuid.describe('Use it as `source_config.listener_id`.'),
    compute_type: z.enum(COMPUTE_TYPES),
    compute_id: z.string(),
    compute_config: computeConfig,
    version: z.string().nullable().describe('The version that the listener program last reported.'),
    pod_classes: z
      .array(z.string())
      .describe('The values that `resource_spec.class` of its deployments may have, according to its last report.'),
    status: z
      .enum(LISTENER_STATUSES)
      .describe('OFFLINE: the listener has never called, or has not called for 90 seconds.'),
    last_seen_at: time.nullable().describe('The time of its last call; null if it has never called.'),
    created_at: time,
    updated_at: time,
  },
  (row: Listener, ctx) => ({
    computeType: row.computeType as ComputeType,
    computeConfig: configOf(row, ctx),
    status: listenerStatus(row, ctx.clock()),
  }),
)

export const listenerList = pageSchema('ListenerList', listener)
