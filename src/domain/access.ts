/**
 * Who may do what (contract 1). Roles gate the verb; the tenant is the query's where-clause, and it comes from here.
 */
import type { Role } from '../generated/prisma/enums.ts'
import type { RequestContext } from './context.ts'
import { ForbiddenError } from './errors.ts'

/** Who calls. `subject` is the JWT's `sub` or the key's id: what `created_by` and ownership of tokens mean. */
export interface Actor {
  subject: string
  organizationId: string
  /** null: every workspace of the organization */
  workspaceId: string | null
  role: Role
  /** may read the values of secrets */
  secretsRead: boolean
}

/** The roles of people and CI, each including the ones before it. `listener` and `agent` are none of them. */
const RANK: Partial<Record<Role, number>> = { viewer: 1, deployer: 2, admin: 3 }

/** Throws ForbiddenError unless the caller has `role` or a higher one. First line of every verb. */
export function requireRole(ctx: RequestContext, role: 'viewer' | 'deployer' | 'admin'): void {
  if ((RANK[ctx.actor.role] ?? 0) < RANK[role]!) {
    throw new ForbiddenError(`This needs the role ${role}; the credential has the role ${ctx.actor.role}.`)
  }
}

/** The tenant boundary: every look-up of a workspace's resource spreads this into its where-clause. */
export function tenant(ctx: RequestContext): { workspaceId: string } {
  return { workspaceId: ctx.workspace.id }
}

/** The same for what hangs below a deployment. A torn-down deployment is gone for every reader. */
export function liveDeployment(ctx: RequestContext): { workspaceId: string; tornDownAt: null } {
  return { workspaceId: ctx.workspace.id, tornDownAt: null }
}
