/** `sessions list`, `sessions revoke`: who is signed in to the dashboard, by whoever may run commands on the server's machine. */
import { z } from 'zod'
import { endSession } from '../domain/sessions/revoke.ts'
import {
  SESSION_VIEW,
  type SessionView,
  sessionActor,
  sessionEnd,
  sessionExpiry,
  sessionRole,
} from '../domain/sessions/session.ts'
import { transaction } from '../domain/transaction/context.ts'
import { COMMAND_LINE } from '../domain/values/event-actor.ts'
import { withCore } from './core.ts'
import { type Command, printTable, readOptions, UsageError } from './terminal/command.ts'

export const listSessions: Command = {
  usage: '',
  summary: 'lists the sessions of the dashboard, in all workspaces',
  async run(args) {
    readOptions(args, {})
    await withCore(async (core) => {
      const sessions = await core.db.session.findMany({
        where: { openedAt: { not: null } },
        ...SESSION_VIEW,
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      })
      printTable([
        ['ID', 'ROLE', 'STATE', 'LAST USED', 'WHO'],
        ...sessions.map((session) => [
          session.id,
          sessionRole(session),
          stateOf(session, core.clock()),
          session.lastUsedAt?.toISOString() ?? '-',
          whoOf(session),
        ]),
      ])
    })
  },
}

function stateOf(session: SessionView, now: Date): string {
  if (sessionEnd(session)) return 'ended'
  const expiry = sessionExpiry(session)
  return `${expiry > now ? 'valid until' : 'expired'} ${expiry.toISOString()}`
}

function whoOf(session: SessionView): string {
  const { kind, name } = sessionActor(session)
  return name === null ? kind : `${kind} ${name}`
}

export const revokeSessions: Command = {
  usage: 'ID | --all',
  summary: 'ends a session of the dashboard, or every one; running servers refuse it at once',
  async run(args) {
    if (args.includes('--all')) return revokeAll(args)
    const { positionals } = readOptions(args, {}, 1)
    const id = z.uuid().safeParse(positionals[0])
    if (!id.success) throw new UsageError('The ID must be that of `sessions list`.')
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
    // codes that nobody has used yet
    await core.db.session.deleteMany({ where: { openedAt: null } })
    const sessions = await core.db.session.findMany({ where: { endedAt: null }, ...SESSION_VIEW })
    for (const session of sessions) await transaction(core, (tx) => endSession(tx, session, COMMAND_LINE))
    process.stdout.write(`Ended ${sessions.length}\n`)
  })
}
