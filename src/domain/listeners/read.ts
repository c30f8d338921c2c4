/** Reads listeners: one, a page by offset (REST) or a window by cursor (GraphQL), newest first. All check the plan. */
import { z } from 'zod'
import type { Listener } from '../../generated/prisma/client.ts'
import type { OffsetPage } from '../paging/paging.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { requireRole, tenant } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import type { Selection } from '../transaction/read-back.ts'
import { resource } from '../transaction/resource.ts'
import { offsetQuery } from '../values/shapes.ts'
import { requireListenerPlan } from './plan-entitlement.ts'
import { listenerPath } from './schemas.ts'

export const listeners = resource<Listener>({
  name: 'Listener',
  table: (sql) => sql.listener,
  visible: tenant,
  check(ctx) {
    requireRole(ctx, 'viewer')
    requireListenerPlan(ctx)
  },
})

export const getInput = z.object({ path: listenerPath })

export const getListener = (ctx: RequestContext, raw: RawInput, query: Selection = {}): Promise<Listener> =>
  listeners.get(ctx, () => parse(getInput, raw).path.listener_id, query)

export const listInput = z.object({ query: z.object(offsetQuery) })

export const listListeners = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<Listener>> =>
  listeners.page(ctx, () => parse(listInput, raw).query)
