/** `sessions list`, `sessions revoke`: the dashboard's sessions, for operators of the server's machine. */
import { z } from 'zod'
import {
  endSession,
  SESSION_VIEW,
  type SessionView,
  sessionActor,
  sessionEnd,
  sessionExpiry,
  sessionRole,
} from '../domain/sessions/session.ts'
import { transaction } from '../domain/transaction/context.ts'
import { COMMAND_LINE } from '../domain/values/event-types.ts'
import { withCore } from './core.ts'
import { type Command, printTable, readOptions, UsageError } from './terminal/command.ts'

export const listSessions: Command = {
  usage: '',
  summary: 'lists the dashboard’s sessions in all workspaces',
  async run(args) {
    readOptions(args, {})
    await withCore(async (core) => {
      const sessions = await core.db.session.findMany({
        where: { openedAt: { not: null } },
        ...SESSION_VIEW,
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      })
      printTable([
        ['ID', 'ROLE', 'STATE', 'LAST USED', 'ACTOR'],
        ...sessions.map((session) => [
          session.id,
          sessionRole(session),
          formatState(session, core.clock()),
          session.lastUsedAt?.toISOString() ?? '-',
          formatActor(session),
        ]),
      ])
    })
  },
}

function formatState(session: SessionView, now: Date): string {
  if (sessionEnd(session)) return 'ended'
  const expiry = sessionExpiry(session)
  return `${expiry > now ? 'valid until' : 'expired'} ${expiry.toISOString()}`
}

function formatActor(session: SessionView): string {
  const { kind, name } = sessionActor(session)
  return name === null ? kind : `${kind} ${name}`
}

export const revokeSessions: Command = {
  usage: 'ID | --all',
  summary: 'ends one session of the dashboard, or all; running servers refuse it immediately',
  async run(args) {
    if (args.includes('--all')) return revokeAll(args)
    const { positionals } = readOptions(args, {}, 1)
    const id = z.uuid().safeParse(positionals[0])
    if (!id.success) throw new UsageError('ID must be an id that `sessions list` shows.')
    await withCore(async (core) => {
      await transaction(core, async (tx) => {
        const session = await tx.sql.session.findUnique({ where: { id: id.data }, ...SESSION_VIEW })
        if (!session) throw new UsageError(`There is no session ${id.data}.`)
        await endSession(tx, session, COMMAND_LINE)
      })
      process.stdout.write(`Ended ${id.data}\n`)
    })
  },
}

async function revokeAll(args: string[]): Promise<void> {
  readOptions(args, { all: { type: 'boolean' } })
  await withCore(async (core) => {
    // unused sign-in codes
    await core.db.session.deleteMany({ where: { openedAt: null } })
    const sessions = await core.db.session.findMany({ where: { endedAt: null }, ...SESSION_VIEW })
    for (const session of sessions) await transaction(core, (tx) => endSession(tx, session, COMMAND_LINE))
    process.stdout.write(`Ended ${sessions.length} sessions\n`)
  })
}
