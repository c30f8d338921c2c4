/** The tenant boundary for revisions `d` in SQL: their deployments `o`. */
import { Prisma } from '../../generated/prisma/client.ts'
import { hideFromPlanner } from '../sql/hide-from-planner.ts'

export const REVISIONS_WITH_DEPLOYMENT = Prisma.raw('revisions d JOIN deployments o ON o.id = d.deployment_id')

/** Like `liveDeployment` (transaction/access.ts). */
export const liveDeploymentSql = ({ workspace }: { workspace: { id: string } }) =>
  Prisma.sql`o.workspace_id = ${hideFromPlanner(Prisma.sql`${workspace.id}::uuid`)} AND o.torn_down_at IS NULL`
