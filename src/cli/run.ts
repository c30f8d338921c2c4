/** Finds the command that some words name, loads it and runs it. */
import { type Command, UsageError } from './terminal/command.ts'

/**
 * name → command, in the order of the help. A name has one or two words. Each is loaded when it is asked for: those that
 * speak to a server know nothing of what a server is made of, and start quickly.
 */
const COMMANDS: Record<string, () => Promise<Command>> = {
  deploy: async () => (await import('./remote/deploy.ts')).deployOne,
  wait: async () => (await import('./remote/wait.ts')).waitForRevision,
  logs: async () => (await import('./remote/logs.ts')).showLogs,
  status: async () => (await import('./remote/status.ts')).showStatus,
  rollback: async () => (await import('./remote/rollback.ts')).rollBack,
  'keys create': async () => (await import('./keys.ts')).createKeys,
  'keys list': async () => (await import('./keys.ts')).listKeys,
  'keys revoke': async () => (await import('./keys.ts')).revokeKeys,
  'sessions list': async () => (await import('./sessions.ts')).listSessions,
  'sessions revoke': async () => (await import('./sessions.ts')).revokeSessions,
  dashboard: async () => (await import('./dashboard.ts')).openDashboard,
  'workspaces create': async () => (await import('./workspaces.ts')).createWorkspaces,
  'workspaces list': async () => (await import('./workspaces.ts')).listWorkspaces,
  'listener manifest': async () => (await import('./listener.ts')).printListenerManifest,
  'secrets rotate': async () => (await import('./secrets.ts')).rotateKeys,
  'server stop': async () => (await import('./server.ts')).stopServer,
  listener: async () => (await import('./listener.ts')).runListener,
  builder: async () => (await import('./builder.ts')).runBuilder,
  migrate: async () => (await import('./migrate.ts')).migrateDatabase,
  backup: async () => (await import('./backup.ts')).makeBackup,
  restore: async () => (await import('./backup.ts')).restoreBackup,
  demo: async () => (await import('./demo.ts')).runDemo,
}

const HELP = ['help', '--help', '-h']

async function help(): Promise<string> {
  const commands = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, load]) => {
      const { usage, summary } = await load()
      return `  ${`${name} ${usage}`.trim()}\n      ${summary}`
    }),
  )
  return `Usage: npm run cli -- COMMAND\n\n${commands.join('\n')}\n\nThe settings are the server's (environment). Works beside a running server.\n`
}

const callOf = (name: string, { usage }: Command) => `Usage: npm run cli -- ${`${name} ${usage}`.trim()}`

/**
 * `words`: what follows `npm run cli --`. Throws UsageError, whose message ends with how it is called right, and
 * CommandError.
 */
export async function run(words: string[]): Promise<void> {
  if (words.length === 0 || HELP.includes(words[0]!)) {
    process.stdout.write(await help())
    return
  }
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ')
    if (!Object.hasOwn(COMMANDS, name)) continue
    const command = await COMMANDS[name]!()
    const args = words.slice(length)
    if (args.includes('--help')) {
      process.stdout.write(`${callOf(name, command)}\n\n${command.summary}\n${command.details ?? ''}`)
      return
    }
    return command.run(args).catch((error) => {
      if (error instanceof UsageError) error.message += `\n${callOf(name, command)}`
      throw error
    })
  }
  throw new UsageError(`There is no command ${words.slice(0, 2).join(' ')}. See \`npm run cli -- help\`.`)
}
