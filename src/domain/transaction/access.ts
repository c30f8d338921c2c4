/** Access rules (docs/api-rules.md#who-is-calling): verbs require roles, and where-clauses from here limit queries to the tenant. */

import type { Role } from '../../generated/prisma/enums.ts'
import { ForbiddenError, NotFoundError } from '../errors/errors.ts'
import type { ActorKind, EventActor } from '../values/event-actor.ts'

/** Who calls. `subject`: the JWT's `sub` or the key's id, for the command line the word; `created_by` and the owners of tokens are subjects. */
export interface Actor {
  kind: 'api_key' | 'person' | 'command_line'
  subject: string
  /** of the key, for people; a person's is the subject */
  name: string
  organizationId: string
  /** null: the credential is for every workspace of the organization */
  workspaceId: string | null
  role: Role
  /** of a key of role `listener`: the listener it is for; null for all others */
  listenerId: string | null
  /** of a key of role `agent`: the agent it is for; null for all others */
  agentId: string | null
  /** may read the values of secrets */
  secretsRead: boolean
  /** over a session, not by the key or the JWT itself: what the dashboard is shown stands on screens */
  viaSession?: boolean
}

/** Whether answers show this caller the values of secrets. Over a session they never do. */
export const seesValues = ({ secretsRead, viaSession }: Pick<Actor, 'secretsRead' | 'viaSession'>): boolean =>
  secretsRead && !viaSession

/** Whoever acts, as events name them. */
export function actorOf({
  kind,
  subject,
  name,
}: {
  kind: ActorKind
  subject: string | null
  name: string | null
}): EventActor {
  // as events name it that it does itself
  if (kind === 'command_line') return { kind, id: null, name: null }
  return { kind, id: subject, name }
}

/** What a check of roles needs of a request's context. */
interface Caller {
  actor: Actor
}
/** What a tenant's where-clause needs of it. */
interface InWorkspace {
  workspace: { id: string }
}

/** The roles of people and CI, each with the rights of those before it. `listener`, `agent` and `builder` stand apart. */
export const RANKED_ROLES = ['viewer', 'deployer', 'admin'] as const satisfies Role[]

const rankOf = (role: Role) => (RANKED_ROLES as readonly Role[]).indexOf(role)

/** First line of every verb: throws ForbiddenError unless the caller has `role` or a higher one. */
export function requireRole(ctx: Caller, role: (typeof RANKED_ROLES)[number]): void {
  if (rankOf(ctx.actor.role) < rankOf(role)) {
    throw new ForbiddenError(`This needs the role ${role}; the credential has the role ${ctx.actor.role}.`)
  }
}

/** Throws ForbiddenError unless the caller may read the values of secrets. */
export function requireSecretsRead(ctx: Caller): void {
  if (!ctx.actor.secretsRead)
    throw new ForbiddenError('This needs the permission secrets:read, which admins have and keys can be given.')
}

/**
 * First line of the data-plane calls: throws ForbiddenError unless the caller has a listener's key, and NotFoundError
 * unless it is this listener's. `listenerId`: parsed, in lower case.
 */
export function requireListener(ctx: Caller, listenerId: string): void {
  if (ctx.actor.role !== 'listener') {
    throw new ForbiddenError(`This needs a listener's own key; the credential has the role ${ctx.actor.role}.`)
  }
  if (ctx.actor.listenerId !== listenerId) throw new NotFoundError('Listener', listenerId)
}

/** First line of a builder's calls: throws ForbiddenError unless the caller has a builder's key. */
export function requireBuilder(ctx: Caller): void {
  if (ctx.actor.role !== 'builder') {
    throw new ForbiddenError(`This needs a builder's key; the credential has the role ${ctx.actor.role}.`)
  }
}

/** First line of verbs for agents: throws ForbiddenError unless the caller has this agent's key. */
export function requireAgent(ctx: Caller, agentId: string): void {
  if (ctx.actor.role !== 'agent') {
    throw new ForbiddenError(`This needs an agent's own key; the credential has the role ${ctx.actor.role}.`)
  }
  if (ctx.actor.agentId !== agentId) throw new ForbiddenError('This key is another agent’s.')
}

/** The tenant boundary: every look-up of a workspace's resources spreads this into its where-clause. */
export function tenant(ctx: InWorkspace): { workspaceId: string } {
  return { workspaceId: ctx.workspace.id }
}

/** The same for deployments and what belongs to them. A torn-down deployment is gone for every reader. */
export function liveDeployment(ctx: InWorkspace): { workspaceId: string; tornDownAt: null } {
  return { workspaceId: ctx.workspace.id, tornDownAt: null }
}
