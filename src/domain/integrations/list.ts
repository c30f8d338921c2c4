/** Lists a workspace's git integrations: where `integration_id` of a deployment comes from (contract 9). */
import { z } from 'zod'
import type { Integration } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { parse, type RawInput } from '../parse.ts'
import { liveIntegration } from './live.ts'

export const listInput = z.object({})

/** All that were not removed, oldest first. Role: viewer. */
export async function listIntegrations(ctx: RequestContext, raw: RawInput): Promise<Integration[]> {
  requireRole(ctx, 'viewer')
  parse(listInput, raw)
  return ctx.db.integration.findMany({ where: liveIntegration(ctx), orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
}
