/** Finds the command that some words name, and runs it. */
import { makeBackup, restoreBackup } from './backup.ts'
import { type Command, UsageError } from './command.ts'
import { runDemo } from './demo.ts'
import { createKeys, listKeys, revokeKeys } from './keys.ts'
import { printListenerManifest, runListener } from './listener.ts'
import { migrateDatabase } from './migrate.ts'
import { rotateKeys } from './secrets.ts'
import { stopServer } from './server.ts'
import { createWorkspaces, listWorkspaces } from './workspaces.ts'

/** name → command, in the order of the help. A name has one or two words. */
const COMMANDS: Record<string, Command> = {
  'keys create': createKeys,
  'keys list': listKeys,
  'keys revoke': revokeKeys,
  'workspaces create': createWorkspaces,
  'workspaces list': listWorkspaces,
  'listener manifest': printListenerManifest,
  'secrets rotate': rotateKeys,
  'server stop': stopServer,
  listener: runListener,
  migrate: migrateDatabase,
  backup: makeBackup,
  restore: restoreBackup,
  demo: runDemo,
}

function help(): string {
  const commands = Object.entries(COMMANDS).map(
    ([name, { usage, summary }]) => `  ${`${name} ${usage}`.trim()}\n      ${summary}`,
  )
  return `Usage: npm run cli -- COMMAND\n\n${commands.join('\n')}\n\nThe settings are the server's (environment). Works beside a running server.\n`
}

/**
 * `words`: what follows `npm run cli --`. Throws UsageError, whose message ends with how it is called right, and
 * CommandError.
 */
export async function run(words: string[]): Promise<void> {
  if (words.length === 0 || ['help', '--help', '-h'].includes(words[0]!)) {
    process.stdout.write(help())
    return
  }
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ')
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
    if (!command) continue
    return command.run(words.slice(length)).catch((error) => {
      if (error instanceof UsageError) error.message += `\nUsage: npm run cli -- ${`${name} ${command.usage}`.trim()}`
      throw error
    })
  }
  throw new UsageError(`There is no command ${words.slice(0, 2).join(' ')}. See \`npm run cli -- help\`.`)
}
