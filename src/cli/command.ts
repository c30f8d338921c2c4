/** What the commands of the command line share: what a command is, its options, and the core it works on. */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { pino } from 'pino'
import { createCore, type Opened } from '../app/core.ts'
import { createLogger } from '../app/logger.ts'
import type { Core } from '../domain/context/context.ts'
import type { Organization, Workspace } from '../domain/model/rows.ts'
import { readConfig } from '../platform/config/config.ts'

/** One command. `args`: what follows its name. */
export interface Command {
  /** for the help: the arguments, and what it does */
  usage: string
  summary: string
  run(args: string[]): Promise<void>
}

/** The command was called wrongly: `message` says how, and the process ends with 2. */
export class UsageError extends Error {}

/** The command could not do it: `message` says why, for people. */
export class CommandError extends Error {}

/** Reads options; anything unexpected is a UsageError. `positionals`: how many words there must be. */
export function readOptions<O extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: O,
  positionals = 0,
) {
  const parsed = parseStrictly(args, options)
  if (parsed.positionals.length < positionals) throw new UsageError('Something is missing.')
  const extra = parsed.positionals[positionals]
  if (extra !== undefined) throw new UsageError(`Unexpected: ${extra}`)
  return parsed
}

function parseStrictly<O extends NonNullable<ParseArgsConfig['options']>>(args: string[], options: O) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Runs `work` on the same database as the server, also beside it while it runs. Acts as the system, not as a caller. */
export async function withCore(work: (core: Core, opened: Opened) => Promise<void>): Promise<void> {
  const config = readConfig(process.env)
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

/** Rows as aligned columns on stdout, the first row being the heading. */
export function printTable(rows: string[][]): void {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  for (const row of rows) {
    process.stdout.write(
      `${row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd()}\n`,
    )
  }
}
