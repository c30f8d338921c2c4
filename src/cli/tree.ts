/** The tree of all commands: those over the network, those of the server's machine, and programs for other machines. */
import { REMOTE_COMMANDS } from './remote/tree.ts'
import type { Tree } from './terminal/run.ts'

const MACHINE = 'On the server’s machine, with the server’s settings (DATA_DIR, DATABASE_URL, …); the server may run:'
const ELSEWHERE = 'On separate machines or in a cluster, with separate settings:'

const SERVER_COMMANDS: Tree = {
  stop: {
    summary: 'stop the server of this DATA_DIR on this machine',
    load: async () => (await import('./server/stop.ts')).stop,
  },
  migrate: {
    summary: 'apply the migrations of the database (a server does this at its start)',
    load: async () => (await import('./server/migrate.ts')).migrate,
  },
  backup: {
    summary: 'write databases, keys and files to a new folder; the server and agents may run',
    load: async () => (await import('./server/backup.ts')).backup,
  },
  restore: {
    summary: 'restore a backup into an empty DATA_DIR and an empty database, which no server may use',
    load: async () => (await import('./server/backup.ts')).restore,
  },
  dashboard: {
    summary: 'print a URL that opens the dashboard signed in as an admin, once, within 10 minutes',
    load: async () => (await import('./server/dashboard.ts')).dashboard,
  },
  keys: {
    summary: 'create, list and revoke API keys of all workspaces',
    commands: {
      create: {
        summary: 'create an API key and print it once',
        load: async () => (await import('./server/keys.ts')).create,
      },
      list: {
        summary: 'list the API keys of all workspaces, including revoked keys',
        load: async () => (await import('./server/keys.ts')).list,
      },
      revoke: {
        summary: 'revoke an API key; running servers refuse it immediately',
        load: async () => (await import('./server/keys.ts')).revoke,
      },
    },
  },
  sessions: {
    summary: 'list and end sessions of the dashboard',
    commands: {
      list: {
        summary: 'list the dashboard’s sessions in all workspaces',
        load: async () => (await import('./server/sessions.ts')).list,
      },
      revoke: {
        summary: 'end one session of the dashboard, or all; running servers refuse it immediately',
        load: async () => (await import('./server/sessions.ts')).revoke,
      },
    },
  },
  addresses: {
    summary: 'give deployments from before names an address with a name',
    commands: {
      name: {
        summary: 'replace the port or Ingress of a deployment, or of all, by a name',
        load: async () => (await import('./server/addresses.ts')).name,
      },
    },
  },
  workspaces: {
    summary: 'create and list workspaces',
    commands: {
      create: {
        summary: 'create a workspace and print its id',
        load: async () => (await import('./server/workspaces.ts')).create,
      },
      list: {
        summary: 'list the workspaces; X-Tenant-Id takes their ids',
        load: async () => (await import('./server/workspaces.ts')).list,
      },
    },
  },
  secrets: {
    summary: 'change the key that encrypts secrets',
    commands: {
      rotate: {
        summary: 'encrypt everything with the first key, and list the keys that you can remove',
        load: async () => (await import('./server/secrets.ts')).rotate,
      },
    },
  },
}

export const COMMANDS: Tree = {
  ...REMOTE_COMMANDS,
  serve: { heading: MACHINE, summary: 'run the server', load: async () => (await import('./serve.ts')).serve },
  server: {
    heading: MACHINE,
    summary: 'stop, back up and administer the server of this machine',
    commands: SERVER_COMMANDS,
  },
  demo: {
    heading: MACHINE,
    summary: 'show a deployment from a git repository, an update and a rollback on the running server',
    load: async () => (await import('./demo.ts')).demo,
  },
  listener: {
    heading: ELSEWHERE,
    summary: 'run a listener, which runs deployments of a control plane in a Kubernetes cluster',
    load: async () => (await import('./listener.ts')).listener,
    commands: {
      manifest: {
        summary: 'print the YAML that installs a listener',
        load: async () => (await import('./listener.ts')).manifest,
      },
    },
  },
  door: {
    heading: ELSEWHERE,
    summary: 'run a door, the entrance to the deployments of a Kubernetes cluster',
    load: async () => (await import('./door.ts')).door,
  },
  builder: {
    heading: ELSEWHERE,
    summary: 'run a builder, which builds images for a control plane on a separate machine',
    load: async () => (await import('./builder.ts')).builder,
  },
}
