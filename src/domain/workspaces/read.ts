/** Reads the workspaces in which the caller's credential may act, so the caller can choose one. */
import { z } from 'zod'
import type { Prisma, Workspace } from '../../generated/prisma/client.ts'
import { queryText, uuid } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { escapeLike } from '../sql/like-pattern.ts'
import type { RequestContext } from '../transaction/context.ts'
import type { Selection } from '../transaction/read-back.ts'
import { resource } from '../transaction/resource.ts'

/** The credential's workspace, or all of its organization. */
export function ownWorkspaces({ actor }: Pick<RequestContext, 'actor'>): Prisma.WorkspaceWhereInput {
  const { organizationId, workspaceId } = actor
  return workspaceId === null ? { organizationId } : { organizationId, id: workspaceId }
}

export const workspaces = resource<Workspace>({
  name: 'Workspace',
  table: (sql) => sql.workspace,
  visible: ownWorkspaces,
})

const getInput = z.object({ path: z.object({ workspace_id: uuid }) })

/** Role: viewer. Throws NotFoundError, also for a workspace outside of the credential. */
export const getWorkspace = (ctx: RequestContext, id: string, query: Selection = {}): Promise<Workspace> =>
  workspaces.get(ctx, () => parse(getInput, { path: { workspace_id: id } }).path.workspace_id, query)

const filterInput = z.object({ query: z.object({ name_contains: queryText }) })

/** `part` ignores case; absent, null or empty: no filter. */
export const workspacesNamed = (part: string | null | undefined) => (): Prisma.WorkspaceWhereInput => {
  const { name_contains: text } = parse(filterInput, { query: { name_contains: part } }).query
  return text === undefined ? {} : { name: { contains: escapeLike(text), mode: 'insensitive' } }
}
