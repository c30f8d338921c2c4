/** Reads the workspaces in which the caller's credential may act, so the caller can choose one. */
import { z } from 'zod'
import type { Prisma, Workspace } from '../../generated/prisma/client.ts'
import { NotFoundError } from '../errors/errors.ts'
import { newestFirst } from '../paging/newest-first.ts'
import { cut, type Slice, type Window } from '../paging/paging.ts'
import { queryText, uuid } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { escapeLike } from '../sql/like-pattern.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { type Selection, writtenRow } from '../transaction/read-back.ts'

/** The credential's workspace, or all of its organization. */
export function ownWorkspaces({ actor }: Pick<RequestContext, 'actor'>): Prisma.WorkspaceWhereInput {
  const { organizationId, workspaceId } = actor
  return workspaceId === null ? { organizationId } : { organizationId, id: workspaceId }
}

const getInput = z.object({ path: z.object({ workspace_id: uuid }) })

/** Role: viewer. Throws NotFoundError, also for a workspace outside of the credential. */
export async function getWorkspace(ctx: RequestContext, id: string, query: Selection = {}): Promise<Workspace> {
  requireRole(ctx, 'viewer')
  const { path } = parse(getInput, { path: { workspace_id: id } })
  const where = { id: path.workspace_id, AND: ownWorkspaces(ctx) }
  const found = await ctx.db.workspace.findFirst({ ...query, where })
  if (!found) throw new NotFoundError('Workspace', path.workspace_id)
  return found
}

export const selectWritten = writtenRow((sql) => sql.workspace)

const filterInput = z.object({ query: z.object({ name_contains: queryText }) })

/** `name_contains` ignores case; absent, null or empty: no filter. */
export interface WorkspaceFilter {
  name_contains?: string | null
}

function whereOf(ctx: RequestContext, filter: WorkspaceFilter): Prisma.WorkspaceWhereInput {
  const { name_contains: part } = parse(filterInput, { query: filter }).query
  const name = part === undefined ? undefined : { contains: escapeLike(part), mode: 'insensitive' as const }
  return { ...ownWorkspaces(ctx), name }
}

/** Newest first. `query`: the selection. Role: viewer. */
export async function windowWorkspaces(
  ctx: RequestContext,
  window: Window,
  filter: WorkspaceFilter,
  query: Selection,
): Promise<Slice<Workspace>> {
  requireRole(ctx, 'viewer')
  const { keyset, ...page } = newestFirst(window)
  return cut(
    window,
    await ctx.db.workspace.findMany({ ...query, where: { ...whereOf(ctx, filter), ...keyset }, ...page }),
  )
}

export async function countWorkspaces(ctx: RequestContext, filter: WorkspaceFilter): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.workspace.count({ where: whereOf(ctx, filter) })
}
