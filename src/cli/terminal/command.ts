/** The interface of a command, its options and errors, and tables on stdout. */
import { type ParseArgsConfig, parseArgs } from 'node:util'

export interface Command {
  /** the arguments, for the help */
  usage: string
  summary: string
  /** additional lines of `COMMAND --help` */
  details?: string
  /** `args`: the arguments after the command's name. Throws UsageError and CommandError; any other error is a bug. */
  run(args: string[]): Promise<void>
}

/** Invalid arguments. The process exits with 2. */
export class UsageError extends Error {}

/** A failed command. `message` gives people the reason. */
export class CommandError extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Throws UsageError for an unknown option or another number of `positionals`. */
export function readOptions<O extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: O,
  positionals = 0,
) {
  const parsed = parseStrictly(args, options)
  if (parsed.positionals.length < positionals) throw new UsageError('An argument is missing.')
  const extra = parsed.positionals[positionals]
  if (extra !== undefined) throw new UsageError(`Unexpected argument: ${extra}`)
  return parsed
}

function parseStrictly<O extends NonNullable<ParseArgsConfig['options']>>(args: string[], options: O) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Prints rows as aligned columns. The first row is the heading. */
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
