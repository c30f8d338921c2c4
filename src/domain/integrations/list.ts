/** Lists a workspace's git integrations: where `integration_id` of a deployment comes from (contract 9). */
import type { Integration } from '../../generated/prisma/client.ts'
import { requireRole, tenant } from '../access.ts'
import type { RequestContext } from '../context.ts'

/** All of them, oldest first. Role: viewer. */
export async function listIntegrations(ctx: RequestContext): Promise<Integration[]> {
  requireRole(ctx, 'viewer')
  return ctx.db.integration.findMany({ where: tenant(ctx), orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
}
