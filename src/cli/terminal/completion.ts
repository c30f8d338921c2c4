/** Completion by the TAB key: the shells' scripts, and the answer to `pilothouse complete -- WORDS…`, which they call. */
import suggestions, { type ArgumentHandler, type OptionHandler } from '@bomb.sh/tab'
import addCompletion from '@bomb.sh/tab/commander'
import { Argument, Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import type { Command as FrameworkCommand } from 'commander'
import { type CommandFactory, withExamples } from './command.ts'
import type { Io } from './io.ts'

export const printScript: CommandFactory = () =>
  withExamples(
    new Command().addArgument(
      new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish', 'powershell'] as const),
    ),
    {
      examples: [
        'complete bash > ~/.local/share/bash-completion/completions/pilothouse',
        'complete zsh > ~/.zsh/completions/_pilothouse',
        'complete fish > ~/.config/fish/completions/pilothouse.fish',
      ],
      details: 'bash needs the package bash-completion.',
    },
  ).action((shell) => suggestions.setup('pilothouse', 'pilothouse', shell))

/** Values by the name of an argument or option. `words`: the command line; the last one is unfinished. */
export type Suggestions = Record<string, (env: Io['env'], words: string[]) => Promise<string[]>>

/** Prints what can follow `words`. An error suggests nothing. */
export async function suggest(root: CommandUnknownOpts, words: string[], values: Suggestions, env: Io['env']) {
  const tab = addCompletion(root as unknown as FrameworkCommand)
  for (const [name, load] of Object.entries(values)) {
    const missing = new MissingValues(() => load(env, words).catch(() => []))
    const handler: OptionHandler & ArgumentHandler = (complete) => {
      for (const value of missing.loaded()) complete(value, '')
    }
    for (const { options, arguments: all } of tab.commands.values())
      for (const one of [options.get(name), all.get(name)]) if (one) one.handler = handler
  }
  // the library changes the list of words, and its handlers are synchronous
  try {
    tab.parse([...words])
  } catch (error) {
    if (!(error instanceof MissingValues)) throw error
    await error.load()
    tab.parse([...words])
  }
}

/** Thrown by the handler of a value until the value is loaded. */
class MissingValues extends Error {
  readonly #read: () => Promise<string[]>
  #values: string[] | null = null
  constructor(read: () => Promise<string[]>) {
    super()
    this.#read = read
  }
  async load(): Promise<void> {
    this.#values = await this.#read()
  }
  loaded(): string[] {
    if (!this.#values) throw this
    return this.#values
  }
}
