/** The tenant boundary for revisions `d` in SQL: their deployments `o`. */
import { Prisma } from '../../generated/prisma/client.ts'
import { checkOnly, hideFromPlanner } from '../sql/statements.ts'

export const REVISIONS_WITH_DEPLOYMENT = Prisma.raw('revisions d JOIN deployments o ON o.id = d.deployment_id')

/** Like `liveDeployment` (transaction/access.ts). */
export function liveDeploymentSql({ workspace }: { workspace: { id: string } }): Prisma.Sql {
  const own = checkOnly(Prisma.sql`o.workspace_id = ${hideFromPlanner(Prisma.sql`${workspace.id}::uuid`)}`)
  return Prisma.sql`${own} AND o.torn_down_at IS NULL`
}
