/** Reads revisions: one, a page by offset, a window by cursor. Newest first, by number. Also reads queue positions. */
import { z } from 'zod'
import { Prisma, type Revision } from '../../generated/prisma/client.ts'
import { type Batch, createBatcher } from '../../platform/async/batcher.ts'
import { readAt } from '../change-feed/version.ts'
import { NotFoundError } from '../errors/errors.ts'
import { decodeCursor, encodeCursor, type OffsetPage, type Window, windowSize } from '../paging/paging.ts'
import { checkOnly } from '../paging/statements.ts'
import { type Total, totalsOf } from '../paging/total.ts'
import { count, uuid, waitSeconds } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import {
  amongIds,
  liveDeploymentSql,
  REVISIONS_WITH_DEPLOYMENT,
  type Reading,
  readAll,
  readOwn,
  selected,
  tenantRows,
} from '../query-engine/reading.ts'
import type { RowList } from '../query-engine/rows.ts'
import { versionOf } from '../query-engine/statement.ts'
import { liveDeployment, requireRole } from '../transaction/access.ts'
import type { ReadContext, RequestContext } from '../transaction/context.ts'
import { waitUntil } from '../transaction/wait.ts'
import { isTerminal } from '../values/lifecycle.ts'
import { deploymentPath, offsetQuery, revisionFilter, revisionPath } from '../values/shapes.ts'

export const getRevisionInput = z.object({
  path: revisionPath,
  query: z.object({ wait: waitSeconds.describe('The longest wait, in seconds, for the revision to end.') }),
})

/**
 * Reads one revision. With `wait`, returns when its work ends, when `isNews` says so, or when the time is up. Role: viewer.
 * Throws NotFoundError for either id, and the errors of waitUntil().
 */
export async function getRevision(ctx: RequestContext, raw: RawInput): Promise<Revision> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(getRevisionInput, { query: {}, ...raw })
  const { deployment_id: deploymentId, revision_id: revisionId } = path
  return waitUntil<Revision>(ctx, {
    seconds: query.wait,
    scope: { deploymentId, revisionId, withoutEvent: raw.isNews !== undefined },
    key: `revision ${deploymentId} ${revisionId}`,
    read: () => readRevision(ctx, deploymentId, revisionId),
    done: raw.isNews ?? (({ status }) => isTerminal(status)),
  })
}

/** By installation. */
const polls = new WeakMap<RequestContext['query'], Batch>()
/** A slow read delays the next one by 5 ms at most. */
const POLLS = { maxBatch: 100, maxWaitMs: 5, gathersTurn: true }

/** Throws NotFoundError for the wrong one of the two ids. Concurrent polls share a statement. */
export async function readRevision(ctx: ReadContext, deploymentId: string, revisionId: string): Promise<Revision> {
  let shared = polls.get(ctx.query)
  if (!shared) {
    shared = createBatcher(POLLS)
    polls.set(ctx.query, shared)
  }
  const found = await shared(ctx.workspace.id, revisionId, async (ids: readonly string[]) => {
    const revisions = await revisionsById(ctx, ids)
    return ids.map((id) => revisions.get(id))
  })
  if (found?.deploymentId === deploymentId) return found
  await requireDeployment(ctx, deploymentId)
  throw new NotFoundError('Revision', revisionId)
}

const { send, decode } = selected<Revision>('Revision', {}, true)
const whole: Reading<Revision> = { send, decode: (row) => readAt([decode(row)], versionOf([row]))[0]! }

async function revisionsById(ctx: ReadContext, ids: readonly string[]): Promise<Map<string, Revision>> {
  const rows = await readAll(ctx, whole, tenantRows(ctx, 'Revision', amongIds(ids)))
  return new Map(rows.map((row) => [row.id, row]))
}

const oneInput = z.object({ path: z.object({ revision_id: uuid }) })

/** For GraphQL, which names a revision without its deployment. Role: viewer. Throws NotFoundError. */
export async function readAnyRevision<Row>(ctx: ReadContext, raw: RawInput, reading: Reading<Row>): Promise<Row> {
  requireRole(ctx, 'viewer')
  return readOwn(ctx, 'Revision', parse(oneInput, raw).path.revision_id, reading)
}

/** The number of matching revisions per deployment; deployments without any are left out. One statement. Role: viewer. */
export async function countRevisions(
  ctx: ReadContext,
  deploymentIds: readonly string[],
  filter: RevisionFilter,
): Promise<Map<string, Total>> {
  requireRole(ctx, 'viewer')
  const status = filter.status ? Prisma.sql`AND r.status::text = ANY (${filter.status}::text[])` : Prisma.empty
  return totalsOf(
    ctx.db,
    deploymentIds,
    (id) => Prisma.sql`
      SELECT FROM revisions r JOIN deployments d ON d.id = r.deployment_id
      WHERE d.id = ${id} AND ${checkOnly(Prisma.sql`d.workspace_id = ${ctx.workspace.id}::uuid`)} AND d.torn_down_at IS NULL ${status}`,
  )
}

/** Throws NotFoundError unless the workspace has the deployment. */
export async function requireDeployment(ctx: ReadContext, id: string): Promise<void> {
  if ((await ctx.db.deployment.count({ where: { id, ...liveDeployment(ctx) } })) === 0)
    throw new NotFoundError('Deployment', id)
}

const filterSchema = z.object(revisionFilter)
const filterInput = z.object({ query: filterSchema })
export type RevisionFilter = z.output<typeof filterSchema>
export const listRevisionsInput = z.object({
  path: deploymentPath,
  query: z.object({ ...offsetQuery, ...revisionFilter }),
})

/** An offset page, newest first. Role: viewer. */
export async function listRevisions(ctx: ReadContext, raw: RawInput): Promise<OffsetPage<Revision>> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(listRevisionsInput, raw)
  const conditions = [
    Prisma.sql`d.deployment_id = ${path.deployment_id}::uuid`,
    ...(query.status ? [Prisma.sql`d.status = ANY (${query.status}::"RevisionStatus"[])`] : []),
    ...(query.remote_reconciled === undefined ? [] : [remoteSql(query.remote_reconciled)]),
  ]
  const page = Prisma.sql`ORDER BY d.number DESC LIMIT ${Prisma.raw(String(query.limit))} OFFSET ${query.offset}`
  const resources = await readAll(ctx, whole, tenantRows(ctx, 'Revision', Prisma.join(conditions, ' AND '), page))
  // only an empty page needs the check that the deployment exists
  if (resources.length === 0) await requireDeployment(ctx, path.deployment_id)
  return { resources, offset: query.offset + resources.length }
}

/** Parses a filter that does not come from a query string. */
export function parseRevisionFilter(raw: unknown): RevisionFilter {
  return parse(filterInput, { query: raw ?? {} }).query
}

const remoteSql = (remote: boolean) =>
  remote ? Prisma.sql`o.listener_id IS NOT NULL` : Prisma.sql`o.listener_id IS NULL`

export const revisionCursor = (row: { number: number }) => encodeCursor([row.number])

interface RevisionWindow {
  window: Window
  filter: RevisionFilter
}

/** The revisions of a deployment, newest first. Throws ValidationError for a wrong window or cursor. */
export const REVISIONS: RowList<RevisionWindow> = {
  table: 'Revision',
  isBelow: (own, above) => `${own}.deployment_id = ${above}.id`,
  filter: (own, { filter: { status } }) =>
    status ? Prisma.sql` AND ${Prisma.raw(own)}.status = ANY (${status}::"RevisionStatus"[])` : Prisma.empty,
  page(own, { window }) {
    const { take, backward } = windowSize(window)
    const number = Prisma.raw(`${own}.number`)
    const beyond = (cursor: string | null | undefined, operator: '<' | '>', name: string) =>
      cursor
        ? Prisma.sql` AND ${number} ${Prisma.raw(operator)} ${decodeCursor(cursor, CURSOR, ['query', name])[0]}`
        : Prisma.empty
    return {
      where: Prisma.sql`${beyond(window.after, '<', 'after')}${beyond(window.before, '>', 'before')}`,
      order: Prisma.sql`${number} ${Prisma.raw(backward ? 'ASC' : 'DESC')}`,
      limit: Prisma.raw(`LIMIT ${take + 1}`),
    }
  },
}

const CURSOR = z.tuple([count])

/**
 * Positions in the queue of the same listener, or of the built-in workers, which serve all workspaces; 1 is the
 * longest-waiting revision. Workers may take work in another order: least-served first (repositories/deployment.ts).
 * Revisions that wait for no worker, or for a builder, are left out. One statement. Role: viewer.
 */
export async function readQueuePositions(ctx: ReadContext, ids: readonly string[]): Promise<Map<string, number>> {
  requireRole(ctx, 'viewer')
  const rows = await ctx.db.$queryRaw<{ id: string; position: number }[]>`
    WITH requested AS MATERIALIZED (
      SELECT d.id, s.id AS step, o.listener_id FROM ${REVISIONS_WITH_DEPLOYMENT}
      JOIN steps s ON s.deployment_id = d.deployment_id AND s.finished_at IS NULL AND s.first_taken_at IS NULL AND s.offered_at IS NULL
        AND (s.revision_id = d.id OR (s.kind = 'PROVISION' AND d.status = 'CREATING'))
      WHERE d.id = ANY (${ids}::uuid[]) AND ${liveDeploymentSql(ctx)}
    ), line AS (
      SELECT w.id, row_number() OVER (PARTITION BY x.listener_id ORDER BY w.created_at, w.id)::int AS position
      FROM steps w JOIN deployments x ON x.id = w.deployment_id
      WHERE w.finished_at IS NULL AND w.first_taken_at IS NULL AND w.offered_at IS NULL
        AND EXISTS (SELECT 1 FROM requested a WHERE a.listener_id IS NOT DISTINCT FROM x.listener_id)
    )
    SELECT a.id, l.position FROM requested a JOIN line l ON l.id = a.step`
  return new Map(rows.map(({ id, position }) => [id, position]))
}
