/** Helpers for commands that use the database: opening it, and choosing an organization or workspace. */
import { pino } from 'pino'
import { requireUsed } from '../../app/backup/contents.ts'
import { createCore, type Opened } from '../../app/core.ts'
import { createLogger } from '../../app/logger.ts'
import type { Core, ReadCore } from '../../domain/transaction/context.ts'
import type { Organization, Workspace } from '../../domain/values/row-types.ts'
import { readConfig } from '../../platform/config/config.ts'
import { UsageError } from '../terminal/command.ts'

/**
 * Runs `work` on the server's database; the server may run. Throws if the database is unused instead of creating it. Acts as the
 * system, not as a caller.
 */
export async function withCore<T>(work: (core: Core, opened: Opened) => Promise<T>): Promise<T> {
  const config = readConfig(process.env)
  await requireUsed(config)
  const opened = await createCore(config, createLogger('warn', pino.destination({ fd: 2, sync: true })))
  try {
    return await work(opened.core, opened)
  } finally {
    await opened.close()
  }
}

/** Returns the organization with this id, or the only one. Throws UsageError. */
export async function selectOrganization(core: ReadCore, id: string | undefined): Promise<Organization> {
  return selectOne('organization', '--organization-id', await core.db.organization.findMany(), id)
}

/** Returns the workspace with this id, or the only one. Throws UsageError. */
export async function selectWorkspace(core: ReadCore, id: string | undefined): Promise<Workspace> {
  return selectOne('workspace', '--workspace', await core.db.workspace.findMany({ orderBy: { createdAt: 'asc' } }), id)
}

function selectOne<T extends { id: string; name: string }>(
  kind: string,
  option: string,
  all: T[],
  id: string | undefined,
): T {
  const found =
    id === undefined ? (all.length === 1 ? all[0] : undefined) : all.find((row) => row.id === id.toLowerCase())
  if (found) return found
  if (all.length === 0) throw new UsageError('The database is empty. Start the server once to initialize it.')
  const choices = all.map((row) => `  ${row.id}  ${row.name}`).join('\n')
  const problem = id === undefined ? `There are several ${kind}s` : `There is no ${kind} ${id}`
  throw new UsageError(`${problem}. Choose one with ${option}:\n${choices}`)
}
