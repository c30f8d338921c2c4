/** Lists the API keys that are valid in the workspace: its own and the organization-wide ones, newest first. */
import type { Prisma } from '../../generated/prisma/client.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { resource } from '../transaction/resource.ts'
import { type KeyView, WITHOUT_HASH } from './issue.ts'

export function visibleKeys(ctx: RequestContext): Prisma.ApiKeyWhereInput {
  const { id, organizationId } = ctx.workspace
  return { organizationId, OR: [{ workspaceId: id }, { workspaceId: null }] }
}

/** Includes revoked and expired keys. Role: admin. */
export const keys = resource<KeyView>({
  name: 'API key',
  table: (sql) => sql.apiKey,
  visible: visibleKeys,
  check: (ctx) => requireRole(ctx, 'admin'),
  view: { omit: WITHOUT_HASH },
})

/** The key of the call or of its session; null: neither has one. */
export async function ownKey({ actor, db }: RequestContext): Promise<KeyView | null> {
  if (actor.kind !== 'api_key') return null
  return db.apiKey.findUnique({ where: { id: actor.subject }, omit: WITHOUT_HASH })
}
