/** The tree of commands that work over the network. */
import type { Tree } from '../terminal/run.ts'

/** For the TAB key. */
export const suggestions = async () => (await import('./frame/suggestions.ts')).SUGGESTIONS

/** Commands of the npm package `pilothouse` alone (../tree.ts). */
export const OTHER_COMMANDS = ['serve', 'server', 'demo', 'listener', 'door', 'builder']

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
    load: async () => (await import('./commands/deployments.ts')).status,
  },
  logs: {
    heading: 'Deployments:',
    summary: 'print the newest lines of a log, or follow it',
    load: async () => (await import('./commands/logs.ts')).logs,
  },
  wait: {
    heading: 'Deployments:',
    summary: 'wait until a deployment’s newest rollout has ended',
    load: async () => (await import('./commands/rollouts.ts')).wait,
  },
  rollback: {
    heading: 'Deployments:',
    summary: 'redeploy the revision that served before the current one',
    load: async () => (await import('./commands/rollouts.ts')).rollback,
  },
  restart: {
    heading: 'Deployments:',
    summary: 'run the current revision again in new processes, without a rollout',
    load: async () => (await import('./commands/rollouts.ts')).restart,
  },
  list: {
    heading: 'Deployments:',
    summary: 'list the deployments of the workspace',
    load: async () => (await import('./commands/deployments.ts')).list,
  },
  open: {
    heading: 'Deployments:',
    summary: 'open a deployment’s address in the browser',
    load: async () => (await import('./commands/deployments.ts')).open,
  },
  call: {
    heading: 'Deployments:',
    summary: 'send a request to a deployment’s agent',
    load: async () => (await import('./commands/call.ts')).call,
  },
  revisions: {
    heading: 'Deployments:',
    summary: 'list a deployment’s revisions',
    load: async () => (await import('./commands/deployments.ts')).revisions,
  },
  redeploy: {
    heading: 'Deployments:',
    summary: 'roll a revision out again',
    load: async () => (await import('./commands/rollouts.ts')).redeploy,
  },
  interrupt: {
    heading: 'Deployments:',
    summary: 'end an open rollout',
    load: async () => (await import('./commands/rollouts.ts')).interrupt,
  },
  scale: {
    heading: 'Deployments:',
    summary: 'change a deployment’s replicas and resources',
    load: async () => (await import('./commands/scale.ts')).scale,
  },
  secrets: {
    heading: 'Deployments:',
    summary: 'list and change the secrets of a deployment',
    commands: {
      list: {
        summary: 'list the names of secrets, when each was set and by whom',
        load: async () => (await import('./commands/secrets.ts')).list,
      },
      set: {
        summary: 'set secrets from the environment, a file or stdin',
        load: async () => (await import('./commands/secrets.ts')).set,
      },
      unset: { summary: 'remove secrets', load: async () => (await import('./commands/secrets.ts')).unset },
      import: {
        summary: 'set the secrets of a file with lines NAME=value',
        load: async () => (await import('./commands/secrets.ts')).importFile,
      },
    },
  },
  delete: {
    heading: 'Deployments:',
    summary: 'delete a deployment',
    load: async () => (await import('./commands/deployments.ts')).remove,
  },
  events: {
    heading: 'Workspace:',
    summary: 'print the newest events of the workspace or a deployment, or follow them',
    load: async () => (await import('./commands/events.ts')).events,
  },
  keys: {
    heading: 'Workspace:',
    summary: 'list, create and revoke the API keys of the workspace',
    commands: {
      list: {
        summary: 'list API keys, including expired and revoked keys',
        load: async () => (await import('./commands/keys.ts')).list,
      },
      create: {
        summary: 'create an API key and print it once',
        load: async () => (await import('./commands/keys.ts')).create,
      },
      revoke: { summary: 'revoke an API key', load: async () => (await import('./commands/keys.ts')).revoke },
    },
  },
  listeners: {
    heading: 'Workspace:',
    summary: 'list, register and delete listeners, which run deployments in clusters',
    commands: {
      list: { summary: 'list listeners', load: async () => (await import('./commands/listeners.ts')).list },
      create: {
        summary: 'register a listener and print its id',
        load: async () => (await import('./commands/listeners.ts')).create,
      },
      delete: {
        summary: 'delete a listener and revoke its keys',
        load: async () => (await import('./commands/listeners.ts')).remove,
      },
    },
  },
  api: {
    heading: 'Workspace:',
    summary: 'call a path of the REST API',
    load: async () => (await import('./commands/api.ts')).api,
  },
  login: {
    heading: 'Command line:',
    summary: 'get a key for this machine in the browser',
    load: async () => (await import('./commands/login.ts')).login,
  },
  logout: {
    heading: 'Command line:',
    summary: 'revoke the key of this machine and forget it',
    load: async () => (await import('./commands/logout.ts')).logout,
  },
  whoami: {
    heading: 'Command line:',
    summary: 'show the server, the key and its rights',
    load: async () => (await import('./commands/me.ts')).whoami,
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
    load: async () => (await import('./commands/me.ts')).version,
  },
  complete: {
    heading: 'Command line:',
    summary: 'print the script that completes commands in a shell by TAB',
    load: async () => (await import('../terminal/completion.ts')).printScript,
  },
}
