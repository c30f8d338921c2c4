/** Finds, loads and runs a command of a tree, and prints its result (../README.md). */
import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { CommandError, type CommandFactory, EXIT_CODES, type Result, UsageError } from './command.ts'
import type { Suggestions } from './completion.ts'
import { type Io, VERSION } from './io.ts'

/** Name → command. A command with `commands` is a group. */
export interface Tree {
  [name: string]: Node
}

interface Node {
  summary: string
  /** heading in the help */
  heading?: string
  /** Loads the code. A command is loaded only when it runs, so the help and other commands start quickly. */
  load?: () => Promise<CommandFactory>
  commands?: Tree
}

/** The command `name` of a file. */
export const leaf = <Name extends string>(
  summary: string,
  load: () => Promise<Record<NoInfer<Name>, CommandFactory>>,
  name: Name,
): Node => ({ summary, load: async () => (await load())[name] })

/** Commands under one heading of the help. */
export const under = (heading: string, commands: Tree): Tree =>
  Object.fromEntries(Object.entries(commands).map(([name, node]) => [name, { heading, ...node }]))

interface Program {
  tree: Tree
  /** commands of the npm package `pilothouse` that this program lacks */
  elsewhere?: readonly string[]
  /** Loads the values that the TAB key completes. */
  suggestions: () => Promise<Suggestions>
  /** Text for an error that no command expects: a bug, or a wrong setting of the server. */
  describe(error: unknown): string | Promise<string>
}

/** Runs a command line and returns the exit code. `words`: the arguments after `pilothouse`. */
export async function run(program: Program, words: string[], io: Io): Promise<number> {
  const { tree, describe } = program
  if (words.length === 0) words = ['--help']
  if (words[0] === 'help') words = [...words.slice(1), '--help']
  // the completion scripts call this
  if (words[0] === 'complete' && words[1] === '--') {
    const { suggest } = await import('./completion.ts')
    // the library adds this command itself
    const { complete: _, ...others } = tree
    const given = words.slice(2)
    await suggest(await build(others, given, io, () => {}), given, await program.suggestions(), io.env)
    return 0
  }
  let result: Result | undefined
  const root = await build(tree, words, io, (value) => {
    result = value
  })
  try {
    await root.parseAsync(words, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0 // the help or the version
    // the framework has printed the group's help
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT_CODES.usage
    result = usageResult(error, program, words, root) ?? failure(await describeError(error, describe))
  }
  // a program has no result
  return result ? show(result, words.includes('--json'), io) : 0
}

function show({ outcome, json, text }: Result, asJson: boolean, io: Io): number {
  const exitCode = EXIT_CODES[outcome]
  if (asJson && json) io.out(`${JSON.stringify({ outcome, ...json }, null, 2)}\n`)
  if (exitCode !== 0) io.err(`${text}\n`)
  else if (!asJson && text !== '') io.out(`${text}\n`)
  return exitCode
}

const failure = (detail: string): Result => ({
  outcome: 'failed',
  text: detail,
  json: { error: { code: 'FAILED', detail } },
})

const describeError = (error: unknown, describe: Program['describe']) =>
  error instanceof CommandError ? error.message : describe(error)

/** null: another error */
function usageResult(
  error: unknown,
  { tree, elsewhere }: Program,
  words: string[],
  root: CommandUnknownOpts,
): Result | null {
  if (!(error instanceof UsageError || error instanceof CommanderError)) return null
  const isUnknown = error instanceof CommanderError && UNKNOWN_COMMAND.includes(error.code)
  const detail = (isUnknown && placeOf(tree, words, elsewhere)) || sentence(error.message)
  return {
    outcome: 'usage',
    text: `${detail}\n${usage(root, tree, words)}`,
    json: { error: { code: 'USAGE', detail } },
  }
}

const UNKNOWN_COMMAND = ['commander.unknownCommand', 'commander.excessArguments']

/** The framework's messages begin with `error: `. */
const sentence = (message: string) => message.replace(/^error: (.)/, (_, first: string) => first.toUpperCase())

function usage(root: CommandUnknownOpts, tree: Tree, words: string[]): string {
  const leaf = pathOf(tree, words).reduce((command, name) => command.commands.find((it) => it.name() === name)!, root)
  return `Usage: ${leaf.createHelp().commandUsage(leaf)}`
}

/** The names of `words` that lead to a command of the tree. */
function pathOf(tree: Tree, words: string[]): string[] {
  const [name] = words
  if (name === undefined || !Object.hasOwn(tree, name)) return []
  return [name, ...pathOf(tree[name]!.commands ?? {}, words.slice(1))]
}

/** Says where an unknown command is; null: nowhere. */
function placeOf(tree: Tree, words: string[], elsewhere: readonly string[] = []): string | null {
  if (elsewhere.includes(words[0]!))
    return `'${words[0]}' is a command of the npm package pilothouse, for the server’s machine.`
  const moved = movedTo(tree, words)
  return moved && `This command has moved. It is now \`${moved}\`.`
}

/** Commands of the server's machine were at the top level before they became the group `server`. */
function movedTo(tree: Tree, words: string[]): string | null {
  const group = tree.server?.commands ?? {}
  const path = pathOf(group, words)
  const found = path.reduce<Node | undefined>((node, name) => (node?.commands ?? group)[name], undefined)
  return found?.load ? ['pilothouse', 'server', ...path].join(' ') : null
}

/** Builds the framework's commands. Only the command that `words` names is loaded. */
async function build(
  tree: Tree,
  words: string[],
  io: Io,
  finish: (result: Result) => void,
): Promise<CommandUnknownOpts> {
  const settle = (command: CommandUnknownOpts) =>
    command
      .exitOverride()
      .configureOutput({ writeOut: io.out, writeErr: io.err, outputError: () => {} })
      .helpCommand(false)
      .helpOption('-h, --help', 'explain the command')
      .enablePositionalOptions()
  async function add(parent: CommandUnknownOpts, commands: Tree, rest: string[] | null): Promise<void> {
    for (const [name, node] of Object.entries(commands)) {
      const named = rest !== null && rest[0] === name
      const command = named && node.load ? (await node.load())(io, finish) : new Command()
      settle(command.name(name).description(node.summary))
      if (node.heading !== undefined) command.helpGroup(node.heading)
      parent.addCommand(command)
      await add(command, node.commands ?? {}, named ? rest.slice(1) : null)
    }
  }
  const root = settle(
    new Command('pilothouse')
      .description('Deploy agent servers and operate their control plane.')
      .version(VERSION, '-V, --version', 'print the version')
      .addHelpText('after', '\n`pilothouse COMMAND --help` explains a command.'),
  )
  await add(root, tree, words)
  return root
}
