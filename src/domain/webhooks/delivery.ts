/** Lists the deliveries of a webhook endpoint, newest first, and replays them (docs/webhooks.md#delivery). Role: admin. */
import { z } from 'zod'
import type { EndpointDelivery } from '../../generated/prisma/client.ts'
import type { OffsetPage, Slice, Window } from '../paging/paging.ts'
import { optional, queryWord, uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { eventBy, requireRole, tenant } from '../transaction/access.ts'
import { type RequestContext, transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/once.ts'
import { resource } from '../transaction/resource.ts'
import { offsetQuery } from '../values/shapes.ts'
import { endpointPath, endpoints, lockEndpoint } from './endpoint.ts'

export const DELIVERY_STATES = ['pending', 'delivered', 'dead'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

export type DeliveryView = EndpointDelivery

export function deliveryState({
  deliveredAt,
  deadAt,
}: Pick<EndpointDelivery, 'deliveredAt' | 'deadAt'>): DeliveryState {
  if (deliveredAt) return 'delivered'
  return deadAt ? 'dead' : 'pending'
}

const WHERE_STATE = {
  pending: { deliveredAt: null, deadAt: null },
  delivered: { deliveredAt: { not: null } },
  dead: { deadAt: { not: null } },
} as const

const deliveries = resource<DeliveryView>({
  name: 'Delivery',
  table: (sql) => sql.endpointDelivery,
  visible: tenant,
  check: (ctx) => requireRole(ctx, 'admin'),
  view: {},
})

const state = queryWord(DELIVERY_STATES)
  .describe('Only deliveries in this state. `dead`: dead letters, which are not tried any more.')
  .meta({ typeName: 'DeliveryState' })

export const listInput = z.object({ path: endpointPath, query: z.object({ state, ...offsetQuery }) })

const filterOf = (endpointId: string, only: DeliveryState | undefined) => ({
  endpointId,
  ...(only ? WHERE_STATE[only] : {}),
})

/** Throws NotFoundError for the endpoint. */
export async function listDeliveries(ctx: RequestContext, raw: RawInput): Promise<OffsetPage<DeliveryView>> {
  requireRole(ctx, 'admin')
  const { path, query } = parse(listInput, raw)
  const { limit, offset } = query
  await endpoints.get(ctx, () => path.webhook_endpoint_id)
  return deliveries.page(ctx, () => ({ limit, offset, filter: filterOf(path.webhook_endpoint_id, query.state) }))
}

/** The same as a window by cursor, and its total. */
export async function deliveryWindow(
  ctx: RequestContext,
  endpointId: string,
  only: DeliveryState | undefined,
  window: Window,
): Promise<{ slice: Slice<DeliveryView>; count: () => Promise<number> }> {
  const { id } = await endpoints.get(
    ctx,
    () =>
      parse(z.object({ path: endpointPath }), { path: { webhook_endpoint_id: endpointId } }).path.webhook_endpoint_id,
  )
  const filter = () => filterOf(id, only)
  return { slice: await deliveries.window(ctx, window, {}, filter), count: () => deliveries.count(ctx, filter) }
}

export const replayInput = z.object({
  path: endpointPath,
  body: z
    .object({
      delivery_ids: optional(z.array(uuid).min(1).max(1000)).describe(
        'The deliveries to send again, also delivered ones. Default: all dead letters of the endpoint.',
      ),
    })
    .meta({ id: 'DeliveriesReplay' }),
})

export interface Replayed {
  /** number of deliveries that are pending again */
  replayed: number
}

/** They are tried for another 24 hours, in the order of their events. Unknown ids and pending deliveries are left out. */
export const replayDeliveries = writeVerb<Replayed>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { path, body } = parse(replayInput, raw)
  const id = path.webhook_endpoint_id
  const ids = body.delivery_ids ?? null
  return transaction(ctx, async (tx) => {
    await lockEndpoint(tx, ctx, id)
    const [found] = await tx.sql.$queryRaw<Replayed[]>`
      WITH replayed AS (
        UPDATE endpoint_deliveries d SET queued_at = clock_timestamp(), tries = 0, delivered_at = NULL, dead_at = NULL
        WHERE d.endpoint_id = ${id}::uuid AND (d.delivered_at IS NOT NULL OR d.dead_at IS NOT NULL)
          AND CASE WHEN ${ids}::uuid[] IS NULL THEN d.dead_at IS NOT NULL ELSE d.id = ANY (${ids}::uuid[]) END
        RETURNING d.endpoint_id, d.ordering_key
      ), queues AS (
        INSERT INTO endpoint_queues (endpoint_id, ordering_key)
        SELECT DISTINCT endpoint_id, ordering_key FROM replayed ORDER BY endpoint_id, ordering_key
        ON CONFLICT (endpoint_id, ordering_key) DO UPDATE SET version = endpoint_queues.version + 1, due_at = clock_timestamp()
      )
      SELECT count(*)::int AS replayed FROM replayed`
    await tx.sql.$executeRaw`UPDATE webhook_endpoints SET not_before = NULL WHERE id = ${id}::uuid`
    if (found!.replayed > 0) tx.emit({ ...eventBy(ctx), type: 'webhook_endpoint.replayed', subjectId: id })
    return read(tx, found!)
  })
})
