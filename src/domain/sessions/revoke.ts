/** Ends a session. This server rejects it after the commit, other servers after the NOTIFY, like a key (keys/revoke.ts). */
import { z } from 'zod'
import { ForbiddenError, NotFoundError } from '../errors/errors.ts'
import { KEY_CHANNEL } from '../keys/revoke.ts'
import { uuid } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { type Tx, transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/read-back.ts'
import type { ActorRef } from '../values/event-actor.ts'
import { visibleSessions } from './read.ts'
import { EVENT_WORKSPACE, SESSION_VIEW, type SessionView } from './session.ts'

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
