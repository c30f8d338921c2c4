/** Finds, loads and runs a command (README.md). */
import { type Command, UsageError } from './terminal/command.ts'

/**
 * Heading of the help → name of one or two words → command. A command is loaded only when it runs, so commands over the network
 * load no server code and start quickly.
 */
const GROUPS: Record<string, Record<string, () => Promise<Command>>> = {
  'Over the network, with an API key:': {
    deploy: async () => (await import('./remote/deploy.ts')).deployOne,
    wait: async () => (await import('./remote/rollouts.ts')).waitForRevision,
    logs: async () => (await import('./remote/logs.ts')).showLogs,
    status: async () => (await import('./remote/rollouts.ts')).showStatus,
    rollback: async () => (await import('./remote/rollouts.ts')).rollBack,
  },
  'On the server’s machine, with the server’s settings (DATA_DIR, DATABASE_URL, …); the server may run:': {
    'keys create': async () => (await import('./keys.ts')).createKeys,
    'keys list': async () => (await import('./keys.ts')).listKeys,
    'keys revoke': async () => (await import('./keys.ts')).revokeKeys,
    'sessions list': async () => (await import('./sessions.ts')).listSessions,
    'sessions revoke': async () => (await import('./sessions.ts')).revokeSessions,
    dashboard: async () => (await import('./dashboard.ts')).openDashboard,
    'workspaces create': async () => (await import('./workspaces.ts')).createWorkspaces,
    'workspaces list': async () => (await import('./workspaces.ts')).listWorkspaces,
    'secrets rotate': async () => (await import('./secrets.ts')).rotateKeys,
    'server stop': async () => (await import('./server.ts')).stopServer,
    migrate: async () => (await import('./server.ts')).migrateDatabase,
    backup: async () => (await import('./backup.ts')).makeBackup,
    restore: async () => (await import('./backup.ts')).restoreBackup,
    demo: async () => (await import('./demo.ts')).runDemo,
  },
  'On separate machines or in a cluster, with separate settings (docs/settings.md):': {
    listener: async () => (await import('./listener.ts')).runListener,
    'listener manifest': async () => (await import('./listener.ts')).printListenerManifest,
    builder: async () => (await import('./builder.ts')).runBuilder,
  },
}
const COMMANDS = Object.assign({}, ...Object.values(GROUPS)) as Record<string, () => Promise<Command>>

const HELP = ['help', '--help', '-h']

async function help(): Promise<string> {
  const groups = Object.entries(GROUPS).map(async ([heading, commands]) => {
    const lines = Object.entries(commands).map(async ([name, load]) => {
      const { usage, summary } = await load()
      return `  ${`${name} ${usage}`.trim()}\n      ${summary}`
    })
    return `${heading}\n\n${(await Promise.all(lines)).join('\n')}\n`
  })
  return `Usage: npm run cli -- COMMAND\n\n${(await Promise.all(groups)).join('\n')}`
}

const usageLine = (name: string, { usage }: Command) => `Usage: npm run cli -- ${`${name} ${usage}`.trim()}`

/** `words`: the arguments after `npm run cli --`. Throws CommandError, and UsageError, whose message ends with the usage. */
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
      const [heading] = Object.entries(GROUPS).find(([, commands]) => Object.hasOwn(commands, name))!
      const { summary, details } = command
      process.stdout.write(
        `${usageLine(name, command)}\n\n${summary}\n${details ?? `\n${heading.replace(/:$/, '.')}\n`}`,
      )
      return
    }
    return command.run(args).catch((error) => {
      if (error instanceof UsageError) error.message += `\n${usageLine(name, command)}`
      throw error
    })
  }
  throw new UsageError(`There is no command ${words.slice(0, 2).join(' ')}. See \`npm run cli -- help\`.`)
}
