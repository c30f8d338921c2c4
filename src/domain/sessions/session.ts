/** A session as the API shows it. A session of a key has the key's rights and expiry. */
import type { ApiKey, Prisma, Session } from '../../generated/prisma/client.ts'
import type { Role } from '../../generated/prisma/enums.ts'
import { actorOf } from '../transaction/access.ts'
import type { RequestContext, Statement } from '../transaction/context.ts'
import type { EventActor } from '../values/event-actor.ts'

export type SessionView = Omit<Session, 'hash' | 'codeHash' | 'boundHash'> & {
  apiKey: Pick<ApiKey, 'name' | 'owner' | 'role' | 'expiresAt' | 'revokedAt'> | null
}

export const SESSION_VIEW = {
  omit: { hash: true, codeHash: true, boundHash: true },
  include: { apiKey: { select: { name: true, owner: true, role: true, expiresAt: true, revokedAt: true } } },
} as const satisfies Prisma.SessionDefaultArgs

const KINDS = ['api_key', 'person', 'command_line'] as const
export type SessionKind = (typeof KINDS)[number]

export const sessionActor = ({ kind, subject, name, apiKey }: SessionView): EventActor =>
  actorOf({ kind: kind as SessionKind, subject, name: apiKey?.owner ?? apiKey?.name ?? name })

export const sessionRole = ({ role, apiKey }: SessionView): Role => (apiKey?.role ?? role)!

/** When the session or its key expires. */
export function sessionExpiry({ expiresAt, apiKey }: SessionView): Date {
  const ofKey = apiKey?.expiresAt
  return ofKey && ofKey < expiresAt ? ofKey : expiresAt
}

/** When the session or its key was revoked; null: neither. */
export function sessionEnd({ endedAt, apiKey }: SessionView): Date | null {
  const ofKey = apiKey?.revokedAt ?? null
  return ofKey && (!endedAt || ofKey < endedAt) ? ofKey : endedAt
}

export const isCurrent = ({ id }: Pick<SessionView, 'id'>, { credential }: Pick<RequestContext, 'credential'>) =>
  credential?.kind === 'session' && credential.sessionId === id

/** The workspace whose event log gets the session's events: its own ($2), or the oldest of the organization ($1). */
export const EVENT_WORKSPACE: Statement = {
  name: 'log of session',
  text: `
    SELECT coalesce($2::uuid, (SELECT w.id FROM workspaces w WHERE w.organization_id = $1::uuid ORDER BY w.created_at, w.id LIMIT 1)) AS id`,
}
