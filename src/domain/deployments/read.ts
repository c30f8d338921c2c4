/** Reads deployments: one, a page by offset or a window by cursor. REST's part of a row is in rest-view.ts. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { versionReadAt } from '../change-feed/version.ts'
import { cut, type OffsetPage, type Window } from '../paging/paging.ts'
import { waitSeconds } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { type CountedSlice, type Reading, readAll, readOwn } from '../query-engine/reading.ts'
import type { RowList } from '../query-engine/rows.ts'
import { requireRole, seesValues } from '../transaction/access.ts'
import type { ReadContext, RequestContext } from '../transaction/context.ts'
import { waitUntil } from '../transaction/wait.ts'
import { isTerminal } from '../values/lifecycle.ts'
import { deploymentFilter, deploymentPath, offsetQuery } from '../values/shapes.ts'
import { prepareCount } from './count.ts'
import type { DeploymentFilter } from './filter.ts'
import { rememberCursor } from './offset-cursor-cache.ts'
import type { DeploymentOrder } from './order.ts'
import { offsetPageRows, windowRows } from './page.ts'
import { type DeploymentView, viewReading, type WaitingView, waitingReading } from './rest-view.ts'

export type { DeploymentView }

export const getInput = z.object({
  path: deploymentPath,
  query: z.object({ wait: waitSeconds.describe('The longest wait, in seconds, for the newest rollout to end.') }),
})

/**
 * Reads one deployment. With `wait`, returns when its newest rollout ends, when `isNews` says so, or when the time is up.
 * Role: viewer. Throws NotFoundError, and the errors of waitUntil().
 */
export async function getDeployment(ctx: RequestContext, raw: RawInput): Promise<DeploymentView> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(getInput, { query: {}, ...raw })
  const deploymentId = path.deployment_id
  if (query.wait === 0) return readOwn(ctx, 'Deployment', deploymentId, viewReading(ctx))
  return waitUntil<WaitingView>(ctx, {
    seconds: query.wait,
    scope: { deploymentId, withoutEvent: raw.isNews !== undefined },
    // callers with different rights must not share an answer
    key: `deployment ${deploymentId} ${seesValues(ctx.actor)}`,
    read: () => readOwn(ctx, 'Deployment', deploymentId, waitingReading(ctx)),
    done: raw.isNews ?? (({ newestRollout: [newest] }) => !newest || isTerminal(newest.status)),
  })
}

const oneInput = z.object({ path: deploymentPath })

/** Role: viewer. Throws NotFoundError. */
export async function readDeployment<Row>(ctx: ReadContext, raw: RawInput, reading: Reading<Row>): Promise<Row> {
  requireRole(ctx, 'viewer')
  return readOwn(ctx, 'Deployment', parse(oneInput, raw).path.deployment_id, reading)
}

export const listInput = z.object({ query: z.object({ ...offsetQuery, ...deploymentFilter }) })

/** An offset page, newest first. Role: viewer. */
export async function listDeployments(ctx: RequestContext, raw: RawInput): Promise<OffsetPage<DeploymentView>> {
  requireRole(ctx, 'viewer')
  const { query } = parse(listInput, raw)
  const { limit, offset, ...filter } = query
  const resources = await readAll(ctx, viewReading(ctx), offsetPageRows(ctx, filter, { limit, offset }))
  const end = offset + resources.length
  const [first, last] = [resources[0], resources.at(-1)]
  if (first && last)
    rememberCursor(ctx, filter, { id: last.id, createdAt: last.createdAt, offset: end }, versionReadAt(first))
  return { resources, offset: end }
}

/** A window of the list, with `counts` also its total. Role: viewer. Throws ValidationError for a wrong window or cursor. */
export async function readWindow<Row>(
  ctx: ReadContext,
  { send, decode }: Reading<Row>,
  window: Window,
  { filter, order }: { filter: DeploymentFilter; order: DeploymentOrder },
  counts = false,
): Promise<CountedSlice<Row>> {
  requireRole(ctx, 'viewer')
  const count = counts ? prepareCount(ctx, filter) : null
  const rows = await send(ctx, { ...windowRows(ctx, window, filter, order), extra: count?.value })
  const total = count && (await count.total(rows))
  return { ...cut(window, rows.map(decode)), total }
}

/** Sorted by key and value. */
export const TAGS: RowList<unknown> = {
  table: 'Tag',
  isBelow: (own, above) => `${own}.id IN (SELECT tag_id FROM deployment_tags WHERE deployment_id = ${above}.id)`,
  page: (own) => ({ where: Prisma.empty, order: Prisma.raw(`${own}.key, ${own}.value`), limit: Prisma.empty }),
}
