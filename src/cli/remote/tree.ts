/** The tree of commands that work over the network. Its names are those of the files in `commands`. */
import type { Tree } from '../terminal/run.ts'

export const REMOTE_COMMANDS: Tree = {
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
  complete: {
    heading: 'Command line:',
    summary: 'print the script that completes commands in a shell by TAB',
    load: async () => (await import('../terminal/completion.ts')).printScript,
  },
}
