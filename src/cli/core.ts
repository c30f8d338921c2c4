/** What the commands that work on the database share: the core, and the organization or workspace that an option names. */
import { pino } from 'pino'
import { requireUsed } from '../app/backup/data-dir.ts'
import { createCore, type Opened } from '../app/core.ts'
import { createLogger } from '../app/logger.ts'
import type { Core } from '../domain/transaction/context.ts'
import type { Organization, Workspace } from '../domain/values/row-types.ts'
import { readConfig } from '../platform/config/config.ts'
import { UsageError } from './terminal/command.ts'

/**
 * Runs `work` on the database of the server, also while the server runs. Makes no database. Acts as the system, not as a
 * caller.
 */
export async function withCore(work: (core: Core, opened: Opened) => Promise<void>): Promise<void> {
  const config = readConfig(process.env)
  await requireUsed(config)
  const opened = await createCore(config, createLogger('warn', pino.destination({ fd: 2, sync: true })))
  try {
    await work(opened.core, opened)
  } finally {
    await opened.close()
  }
}

/** The organization named by id, or the only one there is. */
export async function theOrganization(core: Core, id: string | undefined): Promise<Organization> {
  return one('organization', '--organization-id', await core.db.organization.findMany(), id)
}

/** The workspace named by id, or the only one there is. */
export async function theWorkspace(core: Core, id: string | undefined): Promise<Workspace> {
  return one('workspace', '--workspace', await core.db.workspace.findMany({ orderBy: { createdAt: 'asc' } }), id)
}

function one<T extends { id: string; name: string }>(
  what: string,
  option: string,
  all: T[],
  id: string | undefined,
): T {
  const found =
    id === undefined ? (all.length === 1 ? all[0] : undefined) : all.find((row) => row.id === id.toLowerCase())
  if (found) return found
  if (all.length === 0) throw new UsageError('The database is empty: start the server once.')
  const choices = all.map((row) => `  ${row.id}  ${row.name}`).join('\n')
  const problem = id === undefined ? `Which ${what}? Name it with ${option}` : `There is no ${what} ${id}`
  throw new UsageError(`${problem}:\n${choices}`)
}
