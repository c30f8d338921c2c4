/** A session as it may be shown: whose it is, what it may do and how long; of a key's session that is the key's. */
import type { ApiKey, Prisma, Session } from '../../generated/prisma/client.ts'
import type { Role } from '../../generated/prisma/enums.ts'
import { actorOf } from '../transaction/access.ts'
import type { RequestContext, Statement } from '../transaction/context.ts'
import type { EventActor } from '../values/event-actor.ts'

/** Never a hash. */
export type SessionView = Omit<Session, 'hash' | 'codeHash' | 'boundHash'> & {
  apiKey: Pick<ApiKey, 'name' | 'owner' | 'role' | 'expiresAt' | 'revokedAt'> | null
}

/** For Prisma's look-ups of sessions. */
export const SESSION_VIEW = {
  omit: { hash: true, codeHash: true, boundHash: true },
  include: { apiKey: { select: { name: true, owner: true, role: true, expiresAt: true, revokedAt: true } } },
} as const satisfies Prisma.SessionDefaultArgs

const KINDS = ['api_key', 'person', 'command_line'] as const
export type SessionKind = (typeof KINDS)[number]

/** Whoever it is that acts over it, as events name them. */
export const sessionActor = ({ kind, subject, name, apiKey }: SessionView): EventActor =>
  actorOf({ kind: kind as SessionKind, subject, name: apiKey?.owner ?? apiKey?.name ?? name })

export const sessionRole = ({ role, apiKey }: SessionView): Role => (apiKey?.role ?? role)!

/** When it ends by itself. */
export function sessionExpiry({ expiresAt, apiKey }: SessionView): Date {
  const ofKey = apiKey?.expiresAt
  return ofKey && ofKey < expiresAt ? ofKey : expiresAt
}

/** When it was revoked, or its key was; null: neither. */
export function sessionEnd({ endedAt, apiKey }: SessionView): Date | null {
  const ofKey = apiKey?.revokedAt ?? null
  return ofKey && (!endedAt || ofKey < endedAt) ? ofKey : endedAt
}

/** Whether the call came over it. */
export const isCurrent = ({ id }: Pick<SessionView, 'id'>, { credential }: Pick<RequestContext, 'credential'>) =>
  credential?.kind === 'session' && credential.sessionId === id

/** $1: an organization, $2: its workspace or null. In whose log stands what becomes of an organization-wide session: the oldest's. */
export const EVENT_WORKSPACE: Statement = {
  name: 'log of session',
  text: `
    SELECT coalesce($2::uuid, (SELECT w.id FROM workspaces w WHERE w.organization_id = $1::uuid ORDER BY w.created_at, w.id LIMIT 1)) AS id`,
}
