/** A listener as REST shows it (spec 2.7, contract 7). */
import type { z } from 'zod'
import type { RequestContext } from '../../domain/context.ts'
import type { ComputeType } from '../../domain/listeners/schemas.ts'
import { listenerStatus } from '../../domain/listeners/status.ts'
import type { Listener } from '../../generated/prisma/client.ts'
import type { listener } from '../schemas.ts'

export function presentListener(ctx: RequestContext, row: Listener): z.output<typeof listener> {
  return {
    id: row.id,
    compute_type: row.computeType as ComputeType,
    compute_id: row.computeId,
    compute_config: { k8s_namespaces: row.k8sNamespaces },
    version: row.version,
    status: listenerStatus(row, ctx.clock()),
    last_seen_at: row.lastSeenAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  }
}
