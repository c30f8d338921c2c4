/** Deployments of which nothing may serve any more, now and for ever: an id never comes back, and a teardown is the end. */
import type { Core } from '../transaction/context.ts'

/** Of these deployments those that are torn down or not there (any more). */
export async function goneDeployments(core: Core, ids: readonly string[]): Promise<string[]> {
  const there = await core.db.deployment.findMany({
    where: { id: { in: [...ids] }, tornDownAt: null },
    select: { id: true },
  })
  const living = new Set(there.map(({ id }) => id))
  return ids.filter((id) => !living.has(id))
}
