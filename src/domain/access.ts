/**
 * Who may do what (contract 1). Roles gate the verb; the tenant is the query's where-clause, and it comes from here.
 */
import type { Role } from '../generated/prisma/enums.ts'
import type { RequestContext } from './context.ts'
import { ForbiddenError, NotFoundError } from './errors.ts'

/** Who calls. `subject` is the JWT's `sub` or the key's id: what `created_by` and ownership of tokens mean. */
export interface Actor {
  subject: string
  organizationId: string
  /** null: every workspace of the organization */
  workspaceId: string | null
  role: Role
  /** of a key of role `listener`: the one listener whose work it does; null for everybody else */
  listenerId: string | null
  /** of a key of role `agent`: the one agent whose tokens it gets; null for everybody else */
  agentId: string | null
  /** may read the values of secrets */
  secretsRead: boolean
}

/** The roles of people and CI, each including the ones before it. `listener` and `agent` are none of them. */
export const RANKED_ROLES = ['viewer', 'deployer', 'admin'] as const satisfies Role[]

const rankOf = (role: Role) => (RANKED_ROLES as readonly Role[]).indexOf(role)

/** Throws ForbiddenError unless the caller has `role` or a higher one. First line of every verb. */
export function requireRole(ctx: RequestContext, role: (typeof RANKED_ROLES)[number]): void {
  if (rankOf(ctx.actor.role) < rankOf(role)) {
    throw new ForbiddenError(`This needs the role ${role}; the credential has the role ${ctx.actor.role}.`)
  }
}

/**
 * First line of the data-plane calls: throws ForbiddenError unless the caller has a listener's key, and NotFoundError
 * unless it is this listener's. `listenerId`: parsed, in lower case.
 */
export function requireListener(ctx: RequestContext, listenerId: string): void {
  if (ctx.actor.role !== 'listener') {
    throw new ForbiddenError(`This needs a listener's own key; the credential has the role ${ctx.actor.role}.`)
  }
  if (ctx.actor.listenerId !== listenerId) throw new NotFoundError('Listener', listenerId)
}

/** First line of what only agents do: throws ForbiddenError unless the caller has the key of this very agent. */
export function requireAgent(ctx: RequestContext, agentId: string): void {
  if (ctx.actor.role !== 'agent') {
    throw new ForbiddenError(`This needs an agent's own key; the credential has the role ${ctx.actor.role}.`)
  }
  if (ctx.actor.agentId !== agentId) throw new ForbiddenError('This key is another agent’s.')
}

/** The tenant boundary: every look-up of a workspace's resource spreads this into its where-clause. */
export function tenant(ctx: RequestContext): { workspaceId: string } {
  return { workspaceId: ctx.workspace.id }
}

/** The same for what hangs below a deployment. A torn-down deployment is gone for every reader. */
export function liveDeployment(ctx: RequestContext): { workspaceId: string; tornDownAt: null } {
  return { workspaceId: ctx.workspace.id, tornDownAt: null }
}
