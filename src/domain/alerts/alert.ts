/** Lists the alerts of a workspace, newest first (docs/alerts.md). Role: viewer. */
import { z } from 'zod'
import type { Alert } from '../../generated/prisma/client.ts'
import type { OffsetPage } from '../paging/paging.ts'
import { queryWord } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { tenant } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { resource } from '../transaction/resource.ts'
import { offsetQuery } from '../values/shapes.ts'

export const ALERT_STATES = ['firing', 'resolved'] as const
export type AlertState = (typeof ALERT_STATES)[number]

export const alertState = ({ resolvedAt }: Pick<Alert, 'resolvedAt'>): AlertState =>
  resolvedAt ? 'resolved' : 'firing'

/** Alerts that have fired. */
export const alerts = resource<Alert>({
  name: 'Alert',
  table: (sql) => sql.alert,
  visible: (ctx) => ({ ...tenant(ctx), firedAt: { not: null } }),
  view: {},
})

export const whereState = (state: AlertState | undefined): object =>
  state === undefined ? {} : { resolvedAt: state === 'firing' ? null : { not: null } }

const state = queryWord(ALERT_STATES).describe('Only alerts in this state.')
export const listInput = z.object({ query: z.object({ state, ...offsetQuery }) })

export const listAlerts = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<Alert>> =>
  alerts.page(ctx, () => {
    const { state: only, limit, offset } = parse(listInput, raw).query
    return { limit, offset, filter: whereState(only) }
  })
