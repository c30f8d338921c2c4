/** The tree of all commands: those over the network, those of the server's machine, and programs for other machines. */
import { REMOTE_COMMANDS } from './remote/tree.ts'
import { leaf, type Tree, under } from './terminal/run.ts'

const addresses = () => import('./server/addresses.ts')
const backup = () => import('./server/backup.ts')
const builder = () => import('./worker.ts')
const dashboard = () => import('./server/dashboard.ts')
const demo = () => import('./demo.ts')
const door = () => import('./door.ts')
const keys = () => import('./server/keys.ts')
const listener = () => import('./listener.ts')
const migrate = () => import('./server/migrate.ts')
const secrets = () => import('./server/secrets.ts')
const serve = () => import('./serve.ts')
const sessions = () => import('./server/sessions.ts')
const stop = () => import('./server/stop.ts')
const workspaces = () => import('./server/workspaces.ts')

const MACHINE = 'On the server’s machine, with the server’s settings (DATA_DIR, DATABASE_URL, …); the server may run:'
const ELSEWHERE = 'On separate machines or in a cluster, with separate settings:'

const SERVER_COMMANDS: Tree = {
  stop: leaf('stop the server of this DATA_DIR on this machine', stop, 'stop'),
  migrate: leaf('apply the migrations of the database (a server does this at its start)', migrate, 'migrate'),
  backup: leaf('write databases, keys and files to a new folder; the server and agents may run', backup, 'backup'),
  restore: leaf(
    'restore a backup into an empty DATA_DIR and an empty database, which no server may use',
    backup,
    'restore',
  ),
  dashboard: leaf(
    'print a URL that opens the dashboard signed in as an admin, once, within 10 minutes',
    dashboard,
    'dashboard',
  ),
  keys: {
    summary: 'create, list and revoke API keys of all workspaces',
    commands: {
      create: leaf('create an API key and print it once', keys, 'create'),
      list: leaf('list the API keys of all workspaces, including revoked keys', keys, 'list'),
      revoke: leaf('revoke an API key; running servers refuse it immediately', keys, 'revoke'),
    },
  },
  sessions: {
    summary: 'list and end sessions of the dashboard',
    commands: {
      list: leaf('list the dashboard’s sessions in all workspaces', sessions, 'list'),
      revoke: leaf(
        'end one session of the dashboard, or all; running servers refuse it immediately',
        sessions,
        'revoke',
      ),
    },
  },
  addresses: {
    summary: 'give deployments from before names an address with a name',
    commands: {
      name: leaf('replace the port or Ingress of a deployment, or of all, by a name', addresses, 'name'),
    },
  },
  workspaces: {
    summary: 'create and list workspaces',
    commands: {
      create: leaf('create a workspace and print its id', workspaces, 'create'),
      list: leaf('list the workspaces; X-Tenant-Id takes their ids', workspaces, 'list'),
    },
  },
  secrets: {
    summary: 'change the key that encrypts secrets',
    commands: {
      rotate: leaf('encrypt everything with the first key, and list the keys that you can remove', secrets, 'rotate'),
    },
  },
}

export const COMMANDS: Tree = {
  ...REMOTE_COMMANDS,
  ...under(MACHINE, {
    serve: leaf('run the server', serve, 'serve'),
    server: { summary: 'stop, back up and administer the server of this machine', commands: SERVER_COMMANDS },
    demo: leaf('show a deployment from a git repository, an update and a rollback on the running server', demo, 'demo'),
  }),
  ...under(ELSEWHERE, {
    listener: {
      ...leaf(
        'run a listener, which runs deployments of a control plane in a Kubernetes cluster',
        listener,
        'listener',
      ),
      commands: { manifest: leaf('print the YAML that installs a listener', listener, 'manifest') },
    },
    door: leaf('run a door, the entrance to the deployments of a Kubernetes cluster', door, 'door'),
    builder: leaf('run a builder, which builds images for a control plane on a separate machine', builder, 'builder'),
  }),
}
