/** Sessions as the API shows them, their list and their end. A session of a key has the key's rights and expiry (README.md). */
import { z } from 'zod'
import { type ApiKey, Prisma, type Session } from '../../generated/prisma/client.ts'
import type { Role } from '../../generated/prisma/enums.ts'
import { ForbiddenError, NotFoundError } from '../errors/errors.ts'
import { KEY_CHANNEL } from '../keys/manage.ts'
import type { OffsetPage } from '../paging/paging.ts'
import { uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { toDeleteOrSkip } from '../repositories/locks.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import {
  type Db,
  type ReadContext,
  type RequestContext,
  type Statement,
  type Tx,
  transaction,
} from '../transaction/context.ts'
import { writeVerb } from '../transaction/once.ts'
import { resource } from '../transaction/resource.ts'
import type { ActorRef, EventActor } from '../values/event-types.ts'
import { offsetQuery } from '../values/shapes.ts'

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

function visibleSessions({ actor, workspace }: Pick<RequestContext, 'actor' | 'workspace'>): Prisma.SessionWhereInput {
  const { id, organizationId } = workspace
  const own = { kind: actor.kind, subject: actor.subject }
  return {
    organizationId,
    openedAt: { not: null },
    OR: [{ workspaceId: id }, { workspaceId: null }],
    ...(actor.role === 'admin' ? {} : own),
  }
}

export const sessions = resource<SessionView>({
  name: 'Session',
  table: (sql) => sql.session,
  visible: visibleSessions,
  view: SESSION_VIEW,
})

export const listInput = z.object({ query: z.object(offsetQuery) })

export const listSessions = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<SessionView>> =>
  sessions.page(ctx, () => parse(listInput, raw).query)

/** The session of the call; null: the call has none. */
export async function currentSession(ctx: ReadContext): Promise<SessionView | null> {
  if (ctx.credential?.kind !== 'session') return null
  return ctx.db.session.findUnique({ where: { id: ctx.credential.sessionId }, ...SESSION_VIEW })
}

export const revokeInput = z.object({
  path: z.object({
    session_id: z
      .union([uuid, z.literal('current')], { error: 'Must be a UUID, or current.' })
      .describe('`current` names the session of the call.'),
  }),
})

/** Throws NotFoundError, also for `current` without a session; ForbiddenError for another subject's organization-wide session. */
export const revokeSession = writeVerb<SessionView>(async (ctx, raw, read) => {
  requireRole(ctx, 'viewer')
  const { session_id: requestedId } = parse(revokeInput, raw).path
  const { actor, credential } = ctx
  const own = credential?.kind === 'session' ? credential.sessionId : null
  const id = requestedId === 'current' ? own : requestedId
  if (id === null) throw new NotFoundError('Session', requestedId)
  const row = await transaction(ctx, async (tx) => {
    const found = await tx.sql.session.findFirst({ where: { id, AND: visibleSessions(ctx) }, ...SESSION_VIEW })
    if (!found) throw new NotFoundError('Session', id)
    const isOwn = found.kind === actor.kind && found.subject === actor.subject
    if (found.workspaceId === null && actor.workspaceId !== null && !isOwn)
      throw new ForbiddenError('Only an organization-wide credential can end an organization-wide session.')
    await endSession(tx, found, actorOf(actor))
    return read(tx, await tx.sql.session.findUniqueOrThrow({ where: { id }, ...SESSION_VIEW }))
  })
  ctx.onKeyRevoked?.(id)
  return row
})

/** Stores the end once and notifies every server. */
export async function endSession(
  tx: Tx,
  { id, organizationId, workspaceId }: Pick<SessionView, 'id' | 'organizationId' | 'workspaceId'>,
  actor: ActorRef,
): Promise<void> {
  const { count } = await tx.sql.session.updateMany({ where: { id, endedAt: null }, data: { endedAt: tx.now() } })
  if (count === 0) return
  const [log] = await tx.query<{ id: string | null }>(EVENT_WORKSPACE, [organizationId, workspaceId])
  if (log!.id !== null) tx.emit({ workspaceId: log!.id, type: 'session.revoked', subjectId: id, actor })
  await tx.sql.$executeRaw`SELECT pg_notify(${KEY_CHANNEL}, ${id})`
}

/** An opened session stays visible for a day after its end. */
export const ENDED_SESSIONS = Prisma.sql`
  SELECT s.id FROM sessions s LEFT JOIN api_keys k ON k.id = s.api_key_id
  WHERE least(s.ended_at, s.expires_at, k.revoked_at, k.expires_at) < now() - interval '1 day'
     OR (s.opened_at IS NULL AND s.code_expires_at < now())`

export function removeSessions(db: Db, most: number): Promise<number> {
  return db.$executeRaw`
    DELETE FROM sessions WHERE id = ANY (ARRAY(${ENDED_SESSIONS} LIMIT ${most} ${toDeleteOrSkip('s')}))`
}

/**
 * Deletes all sessions of a restored database. It does not know which sessions ended after the backup, so they would be valid
 * again (docs/operations.md#backup-and-restore). No server may run. An older version's database has no sessions table.
 */
export async function deleteAllSessions(query: (sql: string) => Promise<unknown[]>): Promise<void> {
  const [found] = await query(`SELECT FROM pg_class WHERE oid = to_regclass('sessions')`)
  if (found) await query('DELETE FROM sessions')
}
