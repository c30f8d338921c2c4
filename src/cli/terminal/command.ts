/** What all commands of the command line share: what a command is, its options, its errors, and tables. */
import { type ParseArgsConfig, parseArgs } from 'node:util'

/** One command. `args`: what follows its name. */
export interface Command {
  /** for the help: the arguments, and what it does */
  usage: string
  summary: string
  /** more lines for its own help */
  details?: string
  /** Throws UsageError and CommandError; what else it throws is a fault. */
  run(args: string[]): Promise<void>
}

/** The command was called wrongly: `message` says how, and the process ends with 2. */
export class UsageError extends Error {}

/** The command could not do it, or what it waited for came to nothing: `message` says why, for people. */
export class CommandError extends Error {
  /** of the process */
  readonly exitCode: number
  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

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
