/** Compiled reads of deployments (domain/query-engine): a window of the list, or one deployment, with the selected columns. */
import { z } from 'zod'
import { NotFoundError } from '../errors/errors.ts'
import { cut, type Window } from '../paging/paging.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import type { CountedSlice, Reading } from '../query-engine/reading.ts'
import type { Key, Raw, RowSelection, SelectedRow } from '../query-engine/rows.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { deploymentPath } from '../values/shapes.ts'
import type { DeploymentFilter } from './filter.ts'
import type { DeploymentOrder } from './order.ts'
import { oneRow, windowRows } from './row-source.ts'
import { prepareCount } from './total.ts'

/**
 * Like `windowDeployments`, and with `counts` also `countDeployments`. Role: viewer. Throws ValidationError for a wrong
 * window or cursor.
 */
export async function readWindow(
  ctx: RequestContext,
  { selection, variables }: Reading,
  window: Window,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  counts: boolean,
): Promise<CountedSlice> {
  requireRole(ctx, 'viewer')
  const count = counts ? prepareCount(ctx, filter) : null
  const call = windowRows(ctx, window, filter, order, variables)
  const rows = await selection.read(ctx, { ...call, extra: count?.value })
  const total = count && (await count.total(rows))
  return { ...cut(window, rows), total }
}

const oneInput = z.object({ path: deploymentPath })

/** Like `selectDeployment`. Role: viewer. Throws NotFoundError. */
export async function readOne(ctx: RequestContext, { selection, variables }: Reading, raw: RawInput): Promise<Raw> {
  requireRole(ctx, 'viewer')
  const { deployment_id: id } = parse(oneInput, raw).path
  const [found] = await selection.read(ctx, oneRow(ctx, id, variables))
  if (!found) throw new NotFoundError('Deployment', id)
  return found
}

/** Sorted by key and value. */
export function tagsOf(deployment: SelectedRow): { key: Key; rows: RowSelection } {
  return deployment.many(
    'Tag',
    (own, above) => [`${own}.id IN (SELECT tag_id FROM deployment_tags WHERE deployment_id = ${above}.id)`],
    (own) => `${own}.key, ${own}.value`,
  )
}
