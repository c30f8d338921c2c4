/** Lists a workspace's git integrations, oldest first, for `integration_id` of a deployment (docs/sources.md#git-providers). */
import { z } from 'zod'
import type { Integration } from '../../../generated/prisma/client.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { liveIntegration } from './find.ts'

export const listInput = z.object({})

export async function listIntegrations(ctx: RequestContext, raw: RawInput): Promise<Integration[]> {
  requireRole(ctx, 'viewer')
  parse(listInput, raw)
  return ctx.db.integration.findMany({ where: liveIntegration(ctx), orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
}
