/** Restores the secrets of stored answers. An answer names a secret set and never has values (docs/deployments.md#secrets). */
import type { SecretSet } from '../../generated/prisma/client.ts'
import { presentSecrets } from '../secrets/secret-set.ts'
import { seesValues } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import type { Secret } from '../values/shapes.ts'

/** The sets of the caller's workspace that still exist, by id. Empty for callers that may not read values. */
export async function readSets(ctx: ReadContext, ids: readonly string[]): Promise<Map<string, SecretSet>> {
  if (!seesValues(ctx.actor) || ids.length === 0) return new Map()
  const where = { id: { in: [...ids] }, deployment: { workspaceId: ctx.workspace.id } }
  const sets = await ctx.db.secretSet.findMany({ where })
  return new Map(sets.map((set) => [set.id, set]))
}

/** The set's values; null: it is gone, or the caller may not read values. */
export async function readSecrets(ctx: ReadContext, id: string): Promise<Secret[] | null> {
  const set = (await readSets(ctx, [id])).get(id)
  return set ? presentSecrets(ctx, set) : null
}
