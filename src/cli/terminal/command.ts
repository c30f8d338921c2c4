/** The interface of a command: its definition, call, result, errors and exit codes (../README.md). */
import { Command, type CommandUnknownOpts, type OptionValues } from '@commander-js/extra-typings'
import type { Io } from './io.ts'

/** Outcome → exit code of the process (docs/client.md). */
export const EXIT_CODES = {
  deployed: 0,
  done: 0,
  failed: 1,
  usage: 2,
  credentials: 3,
  running: 4,
  superseded: 5,
  interrupted: 6,
  unreachable: 7,
} as const
export type Outcome = keyof typeof EXIT_CODES

export interface Result {
  outcome: Outcome
  /** more members of the JSON document; null: everything is already printed */
  json: object | null
  /** for people, on stdout with exit code 0, otherwise on stderr */
  text: string
}

/** Invalid arguments. The process exits with 2. */
export class UsageError extends Error {}

/** A failed command. `message` gives people the reason. The process exits with 1. */
export class CommandError extends Error {}

export interface Call {
  env: Io['env']
  colours: { out: boolean; err: boolean }
  /** `--json` is given. */
  json: boolean
  /** A person can answer questions. */
  interactive: boolean
  /** Prints a line on stdout, before the result. */
  print(line: string): void
  /** Prints a line of progress on stderr, unless `--quiet` is given. */
  say(line: string): void
  /** Shows what the command waits for, on a terminal; null: nothing. */
  progress(text: string | null): void
  /** Asks on the terminal. Returns the answer without spaces around it. */
  ask(question: string): Promise<string>
  /** Asks before a destructive step, unless `yes`. Throws UsageError without a terminal and CommandError after a no. */
  confirm(question: string, yes: boolean | undefined): Promise<void>
  leaveOnSignals(): void
}

interface CommonOptions {
  json?: true
  quiet?: true
}

export interface CommandSpec<A extends unknown[], O extends OptionValues> {
  /** Command lines without `pilothouse`. */
  examples: string[]
  /** more text for the end of the help */
  details?: string
  /** Adds arguments and options. */
  define(command: Command): Command<A, O>
  /** Throws UsageError and CommandError. Any other error is a bug. */
  work(call: Call, args: A, options: O & CommonOptions): Promise<Result>
}

/** Makes the framework's command. `finish` gets the result. */
export type CommandFactory = (io: Io, finish: (result: Result) => void) => CommandUnknownOpts

export function command<A extends unknown[], O extends OptionValues>(spec: CommandSpec<A, O>): CommandFactory {
  return (io, finish) => {
    const defined = withExamples(spec.define(new Command()), spec)
      .optionsGroup('Options of every command:')
      .option('--json', 'print exactly one JSON document on stdout')
      .option('-q, --quiet', 'print only the result and errors')
    return defined.action(async (...all: unknown[]) => {
      // the framework passes the arguments, the options and the command
      const options = all.at(-2) as O & CommonOptions
      const spinner = new Spinner(io, options.quiet === true || options.json === true)
      try {
        finish(await spec.work(callOf(io, options, spinner), all.slice(0, -2) as A, options))
      } finally {
        spinner.show(null)
      }
    })
  }
}

/** A command that runs until a signal ends it. It has a log instead of a result. */
export function program(spec: { examples: string[]; details?: string; run(): Promise<unknown> }): CommandFactory {
  return () => withExamples(new Command(), spec).action(async () => void (await spec.run()))
}

export function withExamples<A extends unknown[], O extends OptionValues>(
  defined: Command<A, O>,
  { examples, details }: { examples: string[]; details?: string },
): Command<A, O> {
  const lines = examples.map((example) => `  $ pilothouse ${example}`)
  const text = ['', 'Examples:', ...lines, ...(details === undefined ? [] : ['', details])].join('\n')
  return defined.addHelpText('after', text)
}

function callOf(io: Io, { json, quiet }: CommonOptions, spinner: Spinner): Call {
  const { ask } = io
  async function answer(question: string): Promise<string> {
    if (!ask) throw new UsageError(`There is no terminal to ask: ${question}`)
    spinner.show(null)
    return (await ask(`${question} `)).trim()
  }
  return {
    env: io.env,
    colours: io.colours ?? { out: false, err: false },
    json: json === true,
    interactive: ask !== undefined,
    print: (line) => spinner.above(() => io.out(`${line}\n`)),
    say: (line) => quiet || spinner.above(() => io.err(`${line}\n`)),
    progress: (text) => spinner.show(text),
    ask: answer,
    async confirm(question, yes) {
      if (yes) return
      if (!ask) throw new UsageError('There is no terminal to ask for a confirmation. Pass --yes.')
      if (!/^y(es)?$/i.test(await answer(`${question} [y/N]`))) throw new CommandError('Cancelled.')
    },
    leaveOnSignals: () => io.leaveOnSignals?.(),
  }
}

/** Aligned columns. The first row is the heading. */
export function formatTable(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_INTERVAL_MS = 80
const CLEAR_LINE = '\r\u001b[K'

/** One line on a terminal's stderr that shows what the command waits for. Elsewhere it shows nothing. */
class Spinner {
  readonly #io: Io
  readonly #active: boolean
  #text = ''
  #since = 0
  #frame = 0
  #timer: NodeJS.Timeout | undefined

  constructor(io: Io, silent: boolean) {
    this.#io = io
    this.#active = io.animated === true && !silent
  }

  /** null: removes the line. */
  show(text: string | null): void {
    if (!this.#active) return
    if (text !== null) {
      if (text !== this.#text) this.#since = performance.now()
      this.#text = text
      this.#timer ??= setInterval(() => this.#draw(), FRAME_INTERVAL_MS).unref()
      this.#draw()
    } else if (this.#timer) {
      clearInterval(this.#timer)
      this.#timer = undefined
      this.#text = ''
      this.#io.err(CLEAR_LINE)
    }
  }

  /** Prints above the line. */
  above(print: () => void): void {
    if (this.#timer) this.#io.err(CLEAR_LINE)
    print()
    if (this.#timer) this.#draw()
  }

  #draw(): void {
    const seconds = Math.floor((performance.now() - this.#since) / 1000)
    this.#io.err(
      `${CLEAR_LINE}${FRAMES[this.#frame++ % FRAMES.length]} ${this.#text}${seconds > 0 ? ` ${seconds} s` : ''}`,
    )
  }
}
