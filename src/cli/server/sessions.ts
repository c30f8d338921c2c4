/** `server sessions list|revoke`: the dashboard's sessions, for operators of the server's machine. */
import { z } from 'zod'
import {
  endSession,
  SESSION_VIEW,
  type SessionView,
  sessionActor,
  sessionEnd,
  sessionExpiry,
  sessionRole,
} from '../../domain/sessions/session.ts'
import { transaction } from '../../domain/transaction/context.ts'
import { COMMAND_LINE } from '../../domain/values/event-types.ts'
import { command, formatTable, type Result, UsageError } from '../terminal/command.ts'
import { withCore } from './core.ts'

export const list = command({
  examples: ['server sessions list'],
  define: (command) => command,
  async work() {
    return withCore(async (core) => {
      const sessions = await core.db.session.findMany({
        where: { openedAt: { not: null } },
        ...SESSION_VIEW,
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      })
      const text = formatTable([
        ['ID', 'ROLE', 'STATE', 'LAST USED', 'ACTOR'],
        ...sessions.map((session) => [
          session.id,
          sessionRole(session),
          formatState(session, core.clock()),
          session.lastUsedAt?.toISOString() ?? '-',
          formatActor(session),
        ]),
      ])
      const json = sessions.map((session) => ({
        id: session.id,
        role: sessionRole(session),
        actor: sessionActor(session),
        ended_at: sessionEnd(session),
        expires_at: sessionExpiry(session),
        last_used_at: session.lastUsedAt,
      }))
      return { outcome: 'done', json: { sessions: json }, text }
    })
  },
})

function formatState(session: SessionView, now: Date): string {
  if (sessionEnd(session)) return 'ended'
  const expiry = sessionExpiry(session)
  return `${expiry > now ? 'valid until' : 'expired'} ${expiry.toISOString()}`
}

function formatActor(session: SessionView): string {
  const { kind, name } = sessionActor(session)
  return name === null ? kind : `${kind} ${name}`
}

export const revoke = command({
  examples: ['server sessions revoke 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1', 'server sessions revoke --all'],
  define: (command) =>
    command.argument('[id]', 'an id that `server sessions list` shows').option('--all', 'end all sessions'),
  async work(_, [given], { all }) {
    if (all && given !== undefined) throw new UsageError('Pass an ID or --all, not both.')
    if (all) return revokeAll()
    const id = z.uuid().safeParse(given)
    if (!id.success) throw new UsageError('ID must be an id that `server sessions list` shows, or pass --all.')
    return withCore(async (core) => {
      await transaction(core, async (tx) => {
        const session = await tx.sql.session.findUnique({ where: { id: id.data }, ...SESSION_VIEW })
        if (!session) throw new UsageError(`There is no session ${id.data}.`)
        await endSession(tx, session, COMMAND_LINE)
      })
      return { outcome: 'done', json: { ended: [id.data] }, text: `Ended ${id.data}` }
    })
  },
})

async function revokeAll(): Promise<Result> {
  return withCore(async (core) => {
    // unused sign-in codes
    await core.db.session.deleteMany({ where: { openedAt: null } })
    const sessions = await core.db.session.findMany({ where: { endedAt: null }, ...SESSION_VIEW })
    for (const session of sessions) await transaction(core, (tx) => endSession(tx, session, COMMAND_LINE))
    const ended = sessions.map(({ id }) => id)
    return { outcome: 'done', json: { ended }, text: `Ended ${sessions.length} sessions` }
  })
}
