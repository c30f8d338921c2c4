/** Lists a workspace's git integrations: where `integration_id` of a deployment comes from (contract 9). */
import type { Integration } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { liveIntegration } from './live.ts'

/** All that were not removed, oldest first. Role: viewer. */
export async function listIntegrations(ctx: RequestContext): Promise<Integration[]> {
  requireRole(ctx, 'viewer')
  return ctx.db.integration.findMany({ where: liveIntegration(ctx), orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
}
