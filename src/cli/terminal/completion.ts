/** Completion by the TAB key: the shells' scripts, and the answer to `pilothouse complete -- WORDS…`, which they call. */
import suggestions from '@bomb.sh/tab'
import addCompletion from '@bomb.sh/tab/commander'
import { Argument, Command, type CommandUnknownOpts } from '@commander-js/extra-typings'
import type { Command as FrameworkCommand } from 'commander'
import { type CommandFactory, withExamples } from './command.ts'

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

/** Prints what can follow `words`. */
export function suggest(root: CommandUnknownOpts, words: string[]): void {
  addCompletion(root as unknown as FrameworkCommand).parse(words)
}
