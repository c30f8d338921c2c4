/** Hot reads of deployments: a window of the list, or one, as a statement that was planned once. Who asks has selected what they return. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { requireRole } from '../context/access.ts'
import type { RequestContext } from '../context/context.ts'
import { NotFoundError } from '../core/errors.ts'
import { cut, type Slice, type Window, windowSize } from '../core/paging.ts'
import { parse, type RawInput } from '../core/parse.ts'
import { deploymentPath } from '../model/shapes.ts'
import type { Part, Raw, Rows } from '../selection/rows.ts'
import type { Selection } from '../selection/statement.ts'
import { type DeploymentFilter, filterSql } from './filter.ts'
import { type DeploymentOrder, keysetSql, orderSql } from './order.ts'

/** What a hot read runs with: its selection, and the caller's variables for the lists in it. */
export interface Reading {
  selection: Selection
  variables: Readonly<Record<string, unknown>>
}

const DEPLOYMENTS = Prisma.raw('deployments d')
/** With what filters are about. Of what no condition is about Postgres does not look. */
const FILTERED = Prisma.raw(
  'deployments d LEFT JOIN listeners l ON l.id = d.listener_id LEFT JOIN revisions r ON r.id = d.latest_revision_id',
)

/**
 * `windowDeployments` as a hot read. The rows have the columns of `deploymentKeys` and what else was selected. Role: viewer.
 * Throws ValidationError for a wrong window or cursor.
 */
export async function readWindow(
  ctx: RequestContext,
  { selection, variables }: Reading,
  window: Window,
  filter: DeploymentFilter,
  order: DeploymentOrder,
): Promise<Slice<Raw>> {
  requireRole(ctx, 'viewer')
  const { take, backward } = windowSize(window)
  const keyset = keysetSql(order, window)
  const where = keyset ? Prisma.sql`${filterSql(ctx, filter)} AND ${keyset}` : filterSql(ctx, filter)
  const sorted = Prisma.sql`ORDER BY ${orderSql(order, backward)}`
  // its size is part of the text: of a parameter Postgres assumes that it is a tenth of the table
  const from = Prisma.sql`(SELECT d.* FROM ${FILTERED} WHERE ${where} ${sorted} LIMIT ${Prisma.raw(String(take + 1))}) d`
  return cut(window, await selection.read(ctx, { from, tail: sorted, workspaceId: ctx.workspace.id, variables }))
}

const oneInput = z.object({ path: deploymentPath })

/** `selectDeployment` as a hot read. Role: viewer. Throws NotFoundError. */
export async function readOne(ctx: RequestContext, { selection, variables }: Reading, raw: RawInput): Promise<Raw> {
  requireRole(ctx, 'viewer')
  const { deployment_id: id } = parse(oneInput, raw).path
  const tail = Prisma.sql`WHERE d.id = ${id}::uuid AND d.workspace_id = ${ctx.workspace.id}::uuid AND d.torn_down_at IS NULL`
  const [found] = await selection.read(ctx, { from: DEPLOYMENTS, tail, workspaceId: ctx.workspace.id, variables })
  if (!found) throw new NotFoundError('Deployment', id)
  return found
}

/** The tags of a deployment, in the order of their keys and values. */
export function tagsOf(deployment: Part): { key: string | number; rows: Rows } {
  return deployment.many(
    'Tag',
    (own, above) => [`${own}.id IN (SELECT tag_id FROM deployment_tags WHERE deployment_id = ${above}.id)`],
    (own) => `${own}.key, ${own}.value`,
  )
}
