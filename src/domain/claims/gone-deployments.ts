/** Finds deployments that must not serve any more. That is final: ids are never reused, and a teardown can't be undone. */
import type { Core } from '../transaction/context.ts'

/** Returns the ids of deployments that are torn down or don't exist. */
export async function goneDeployments(core: Core, ids: readonly string[]): Promise<string[]> {
  const existing = await core.db.deployment.findMany({
    where: { id: { in: [...ids] }, tornDownAt: null },
    select: { id: true },
  })
  const living = new Set(existing.map(({ id }) => id))
  return ids.filter((id) => !living.has(id))
}
