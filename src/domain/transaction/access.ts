/** The caller and its credential, the roles that verbs require, and where-clauses of the tenant (docs/api-rules.md#who-is-calling). */
import type { Role } from '../../generated/prisma/enums.ts'
import { ForbiddenError, NotFoundError, type UnauthenticatedError } from '../errors/errors.ts'
import type { ActorKind, EventActor } from '../values/event-types.ts'

/** `subject`: the JWT's `sub`, the key's id, or COMMAND_LINE_SUBJECT. `created_by` is a subject. */
export interface Actor {
  kind: 'api_key' | 'person' | 'command_line'
  subject: string
  /** name of the key for people; for a person the subject */
  name: string
  organizationId: string
  /** null: the credential is valid for every workspace of the organization */
  workspaceId: string | null
  role: Role
  /** the listener of a key of role `listener`; null for other callers */
  listenerId: string | null
  /** the agent of a key of role `agent`; null for other callers */
  agentId: string | null
  secretsRead: boolean
  /** authenticated by a session, not by key or JWT; screens show what the dashboard gets */
  viaSession?: boolean
}

/** Whether answers show this caller the values of secrets. A session never gets them. */
export const seesValues = ({ secretsRead, viaSession }: Pick<Actor, 'secretsRead' | 'viaSession'>): boolean =>
  secretsRead && !viaSession

export function actorOf({
  kind,
  subject,
  name,
}: {
  kind: ActorKind
  subject: string | null
  name: string | null
}): EventActor {
  // events of the command line have no id
  if (kind === 'command_line') return { kind, id: null, name: null }
  return { kind, id: subject, name }
}

/** Log and actor of an event about the caller's own write. */
export const eventBy = ({ workspace, actor }: HasActor & InWorkspace) => ({
  workspaceId: workspace.id,
  actor: actorOf(actor),
})

interface HasActor {
  actor: Actor
}
interface InWorkspace {
  workspace: { id: string }
}

/** Roles in ascending order; each has the rights of the previous ones. Other roles are separate. */
export const RANKED_ROLES = ['viewer', 'deployer', 'admin'] as const satisfies Role[]

const rankOf = (role: Role) => (RANKED_ROLES as readonly Role[]).indexOf(role)

export const isRanked = (role: Role): boolean => rankOf(role) >= 0

/** Throws ForbiddenError. Call it first in every verb. */
export function requireRole(ctx: HasActor, role: (typeof RANKED_ROLES)[number]): void {
  if (rankOf(ctx.actor.role) < rankOf(role)) {
    throw new ForbiddenError(`This needs the role ${role}; the credential has the role ${ctx.actor.role}.`)
  }
}

export function requireSecretsRead(ctx: HasActor): void {
  if (!ctx.actor.secretsRead)
    throw new ForbiddenError(
      'This needs the permission secrets:read. Admins have it, and an admin can give it to a key.',
    )
}

/** Throws ForbiddenError without a listener's key, NotFoundError for another listener's. Call it first. */
export function requireListener(ctx: HasActor, listenerId: string): void {
  if (ctx.actor.role !== 'listener') {
    throw new ForbiddenError(`This needs a listener's own key; the credential has the role ${ctx.actor.role}.`)
  }
  if (ctx.actor.listenerId !== listenerId) throw new NotFoundError('Listener', listenerId)
}

/** Throws ForbiddenError. Call it first in a builder's calls. */
export function requireBuilder(ctx: HasActor): void {
  if (ctx.actor.role !== 'builder') {
    throw new ForbiddenError(`This needs a builder's key; the credential has the role ${ctx.actor.role}.`)
  }
}

/** Throws ForbiddenError. Call it first in verbs for agents. */
export function requireAgent(ctx: HasActor, agentId: string): void {
  if (ctx.actor.role !== 'agent') {
    throw new ForbiddenError(`This needs an agent's own key; the credential has the role ${ctx.actor.role}.`)
  }
  if (ctx.actor.agentId !== agentId) throw new ForbiddenError('This key is another agent’s.')
}

/** The tenant boundary. Each look-up of a workspace's resources spreads this into its where-clause. */
export function tenant(ctx: InWorkspace): { workspaceId: string } {
  return { workspaceId: ctx.workspace.id }
}

/** The same for deployments and their parts. No caller sees a torn-down deployment. */
export function liveDeployment(ctx: InWorkspace): { workspaceId: string; tornDownAt: null } {
  return { workspaceId: ctx.workspace.id, tornDownAt: null }
}

/** A session also ends with the key that created it. */
export type Credential =
  | { kind: 'key' }
  | { kind: 'jwt'; endsAt: Date }
  | { kind: 'session'; sessionId: string; keyId: string | null }

export interface Caller {
  actor: Actor
  workspace: { id: string }
  /** absent: an internal call */
  credential?: Credential
}

export interface CredentialWatch {
  /**
   * Calls back once, within 5 s, when the credential expires, is revoked or changes its rights. A database outage does
   * not count. Returns a function that stops the watch.
   */
  watch(caller: Caller, onEnded: (error: UnauthenticatedError) => void): () => void
}
