/** Reads revisions: one, a page by offset, a window by cursor. Newest first, by number. */
import { z } from 'zod'
import { Prisma, type Revision } from '../../generated/prisma/client.ts'
import { type Batch, createBatcher } from '../../platform/async/batcher.ts'
import { readAt } from '../cache-version/read-at.ts'
import { NotFoundError } from '../errors/errors.ts'
import { decodeCursor, encodeCursor, type OffsetPage, type Window, windowSize } from '../paging/paging.ts'
import { type Total, totalsOf } from '../paging/total.ts'
import { count, uuid, waitSeconds } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { type Raw, RowSelection } from '../query-engine/rows.ts'
import { PlannedRead, versionOf } from '../query-engine/statement.ts'
import { checkOnly, hideFromPlanner } from '../sql/statements.ts'
import { liveDeployment, requireRole } from '../transaction/access.ts'
import type { RequestContext, Tx } from '../transaction/context.ts'
import { type Selection, type Written, writtenRow } from '../transaction/once.ts'
import { hasEnded, waitUntil } from '../transaction/wait.ts'
import { isTerminal } from '../values/lifecycle.ts'
import { deploymentPath, offsetQuery, revisionFilter, revisionPath } from '../values/shapes.ts'
import { liveDeploymentSql, REVISIONS_WITH_DEPLOYMENT } from './tenant-sql.ts'

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
    scope: { deploymentId, revisionId },
    key: `revision ${deploymentId} ${revisionId}`,
    read: () => readRevision(ctx, deploymentId, revisionId),
    wakes: raw.isNews ? () => true : hasEnded,
    done: raw.isNews ?? (({ status }) => isTerminal(status)),
  })
}

/** By installation. */
const polls = new WeakMap<RequestContext['query'], Batch>()
/** A slow read delays the next one by 5 ms at most. */
const POLLS = { maxBatch: 100, maxWaitMs: 5, gathersTurn: true }

/** Throws NotFoundError for the wrong one of the two ids. Concurrent polls share a statement. */
export async function readRevision(ctx: RequestContext, deploymentId: string, revisionId: string): Promise<Revision> {
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

const rows = new RowSelection('Revision')
const asRevision = rows.root.reader(rows.root.whole()) as unknown as (row: Raw) => Revision
const whole = new PlannedRead(rows)

/** Whole revisions `d` of deployments `o`, with a prepared statement. */
const revisionRows = (ctx: RequestContext, tail: Prisma.Sql): Promise<Raw[]> =>
  whole.read(ctx, { from: REVISIONS_WITH_DEPLOYMENT, tail, workspaceId: ctx.workspace.id, variables: {} })

/** By id; revisions of other workspaces are left out. Role: viewer. */
export function readRevisions(ctx: RequestContext, ids: readonly string[]): Promise<Map<string, Revision>> {
  requireRole(ctx, 'viewer')
  return revisionsById(ctx, ids)
}

async function revisionsById(ctx: RequestContext, ids: readonly string[]): Promise<Map<string, Revision>> {
  // the second cast keeps Postgres from reading the parentheses as rows
  const given = hideFromPlanner(Prisma.sql`${ids}::uuid[]`)
  const rows = await revisionRows(ctx, Prisma.sql`WHERE d.id = ANY (${given}::uuid[]) AND ${liveDeploymentSql(ctx)}`)
  const version = versionOf(rows)
  return new Map(
    rows.map((row) => {
      const revision = asRevision(row)
      readAt([revision], version)
      return [revision.id, revision]
    }),
  )
}

/** The revision after a write, in its transaction, with the selected fields. */
export const selectWrittenRevision = writtenRow((sql) => sql.revision)

/** The whole revision, usually from the writing statement. */
export async function readWrittenRevision(tx: Tx, { revisionId }: Written): Promise<Revision> {
  const stored = await tx.unit.stored()
  return stored.revision.get(revisionId!) ?? selectWrittenRevision(tx, revisionId!, {})
}

const findRevisionInput = z.object({ path: z.object({ revision_id: uuid }) })

/** For GraphQL, which names a revision without its deployment. `query`: the selection. Role: viewer. Throws NotFoundError. */
export async function selectRevision(ctx: RequestContext, raw: RawInput, query: Selection): Promise<Revision> {
  requireRole(ctx, 'viewer')
  const { path } = parse(findRevisionInput, raw)
  const where = { id: path.revision_id, deployment: liveDeployment(ctx) }
  const found = await ctx.db.revision.findFirst({ ...query, where })
  if (!found) throw new NotFoundError('Revision', path.revision_id)
  return found
}

/** The number of matching revisions per deployment; deployments without any are left out. One statement. Role: viewer. */
export async function countRevisions(
  ctx: RequestContext,
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
export async function requireDeployment(ctx: RequestContext, id: string): Promise<void> {
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
export async function listRevisions(ctx: RequestContext, raw: RawInput): Promise<OffsetPage<Revision>> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(listRevisionsInput, raw)
  const where = Prisma.join(
    [
      Prisma.sql`d.deployment_id = ${path.deployment_id}::uuid AND ${liveDeploymentSql(ctx)}`,
      ...(query.status ? [Prisma.sql`d.status = ANY (${query.status}::"RevisionStatus"[])`] : []),
      ...(query.remote_reconciled === undefined ? [] : [remoteSql(query.remote_reconciled)]),
    ],
    ' AND ',
  )
  const size = Prisma.sql`LIMIT ${Prisma.raw(String(query.limit))} OFFSET ${query.offset}`
  const rows = await revisionRows(ctx, Prisma.sql`WHERE ${where} ORDER BY d.number DESC ${size}`)
  const resources = readAt(rows.map(asRevision), versionOf(rows))
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

/** A window of one deployment's revisions, or of many deployments' as a nested selection. */
export function revisionWindow(window: Window, filter: RevisionFilter) {
  const { take, backward } = windowSize(window)
  return {
    where: {
      ...(filter.status ? { status: { in: filter.status } } : {}),
      number: revisionBounds(window),
    } satisfies Prisma.RevisionWhereInput,
    orderBy: { number: backward ? ('asc' as const) : ('desc' as const) },
    take: take + 1,
  }
}

const CURSOR = z.tuple([count])

/** Exclusive bounds of the numbers. Throws ValidationError for an invalid cursor. */
export function revisionBounds(window: Window): { lt?: number; gt?: number } {
  const at = (cursor: string, name: string) => decodeCursor(cursor, CURSOR, ['query', name])[0]
  return {
    ...(window.after ? { lt: at(window.after, 'after') } : {}),
    ...(window.before ? { gt: at(window.before, 'before') } : {}),
  }
}
