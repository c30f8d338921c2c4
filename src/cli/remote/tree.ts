/** The tree of commands that work over the network. Its names are those of the files in `commands`. */
import type { Tree } from '../terminal/run.ts'

export const REMOTE_COMMANDS: Tree = {
  init: {
    heading: 'Deployments:',
    summary: 'write pilothouse.yaml, which `deploy` reads',
    load: async () => (await import('./commands/init.ts')).init,
  },
  deploy: {
    heading: 'Deployments:',
    summary: 'create a deployment or update it, and wait until it is live or has failed',
    load: async () => (await import('./commands/deploy.ts')).deploy,
  },
  status: {
    heading: 'Deployments:',
    summary: 'show a deployment and its newest revisions',
    load: async () => (await import('./commands/status.ts')).status,
  },
  logs: {
    heading: 'Deployments:',
    summary: 'print the newest lines of a log, or follow it',
    load: async () => (await import('./commands/logs.ts')).logs,
  },
  wait: {
    heading: 'Deployments:',
    summary: 'wait until a deployment’s newest rollout has ended',
    load: async () => (await import('./commands/wait.ts')).wait,
  },
  rollback: {
    heading: 'Deployments:',
    summary: 'redeploy the revision that served before the current one',
    load: async () => (await import('./commands/rollback.ts')).rollback,
  },
  restart: {
    heading: 'Deployments:',
    summary: 'run the current revision again in new processes, without a rollout',
    load: async () => (await import('./commands/restart.ts')).restart,
  },
  whoami: {
    heading: 'Command line:',
    summary: 'show the server, the key and its rights',
    load: async () => (await import('./commands/whoami.ts')).whoami,
  },
  context: {
    heading: 'Command line:',
    summary: 'choose the server, key and workspace that commands use',
    commands: {
      list: {
        summary: 'list the contexts of this machine',
        load: async () => (await import('./commands/context.ts')).list,
      },
      use: { summary: 'choose a context', load: async () => (await import('./commands/context.ts')).use },
      add: {
        summary: 'store a server with a key and choose it',
        load: async () => (await import('./commands/context.ts')).add,
      },
      remove: {
        summary: 'remove a context and its key from this machine',
        load: async () => (await import('./commands/context.ts')).remove,
      },
    },
  },
  version: {
    heading: 'Command line:',
    summary: 'print the versions of the command line and of the server',
    load: async () => (await import('./commands/version.ts')).version,
  },
  complete: {
    heading: 'Command line:',
    summary: 'print the script that completes commands in a shell by TAB',
    load: async () => (await import('../terminal/completion.ts')).printScript,
  },
}
