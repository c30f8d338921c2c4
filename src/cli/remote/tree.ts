/** The tree of commands that work over the network. */
import { leaf, type Tree, under } from '../terminal/run.ts'

const alerts = () => import('./commands/alerts.ts')
const api = () => import('./commands/api.ts')
const call = () => import('./commands/call.ts')
const completion = () => import('../terminal/completion.ts')
const context = () => import('./commands/context.ts')
const deploy = () => import('./commands/deploy.ts')
const deployments = () => import('./commands/deployments.ts')
const events = () => import('./commands/events.ts')
const init = () => import('./commands/init.ts')
const keys = () => import('./commands/keys.ts')
const listeners = () => import('./commands/listeners.ts')
const login = () => import('./commands/login.ts')
const logs = () => import('./commands/logs.ts')
const rollouts = () => import('./commands/rollouts.ts')
const scale = () => import('./commands/scale.ts')
const secrets = () => import('./commands/secrets.ts')
const webhooks = () => import('./commands/webhooks.ts')

/** For the TAB key. */
export const suggestions = async () => (await import('./suggestions.ts')).SUGGESTIONS

/** Commands of the npm package `pilothouse` alone (../tree.ts). */
export const OTHER_COMMANDS = ['serve', 'server', 'demo', 'listener', 'door', 'builder']

export const REMOTE_COMMANDS: Tree = {
  ...under('Deployments:', {
    init: leaf('write pilothouse.yaml, which `deploy` reads', init, 'init'),
    deploy: leaf('create a deployment or update it, and wait until it is live or has failed', deploy, 'deploy'),
    status: leaf('show a deployment and its newest revisions', deployments, 'status'),
    logs: leaf('print the newest lines of a log, or follow it', logs, 'logs'),
    wait: leaf('wait until a deployment’s newest rollout has ended', rollouts, 'wait'),
    rollback: leaf('redeploy the revision that served before the current one', rollouts, 'rollback'),
    restart: leaf('run the current revision again in new processes, without a rollout', rollouts, 'restart'),
    list: leaf('list the deployments of the workspace', deployments, 'list'),
    open: leaf('open a deployment’s address in the browser', deployments, 'open'),
    call: leaf('send a request to a deployment’s agent', call, 'call'),
    revisions: leaf('list a deployment’s revisions', deployments, 'revisions'),
    redeploy: leaf('roll a revision out again', rollouts, 'redeploy'),
    interrupt: leaf('end an open rollout', rollouts, 'interrupt'),
    scale: leaf('change a deployment’s replicas and resources', scale, 'scale'),
    secrets: {
      summary: 'list and change the secrets of a deployment',
      commands: {
        list: leaf('list the names of secrets, when each was set and by whom', secrets, 'list'),
        set: leaf('set secrets from the environment, a file or stdin', secrets, 'set'),
        unset: leaf('remove secrets', secrets, 'unset'),
        import: leaf('set the secrets of a file with lines NAME=value', secrets, 'importFile'),
      },
    },
    delete: leaf('delete a deployment', deployments, 'remove'),
  }),
  ...under('Workspace:', {
    events: leaf('print the newest events of the workspace or a deployment, or follow them', events, 'events'),
    keys: {
      summary: 'list, create and revoke the API keys of the workspace',
      commands: {
        list: leaf('list API keys, including expired and revoked keys', keys, 'list'),
        create: leaf('create an API key and print it once', keys, 'create'),
        revoke: leaf('revoke an API key', keys, 'revoke'),
      },
    },
    listeners: {
      summary: 'list, register and delete listeners, which run deployments in clusters',
      commands: {
        list: leaf('list listeners', listeners, 'list'),
        create: leaf('register a listener and print its id', listeners, 'create'),
        delete: leaf('delete a listener and revoke its keys', listeners, 'remove'),
      },
    },
    alerts: {
      summary: 'list alerts, and list, create and delete their rules',
      commands: {
        list: leaf('list alerts that have fired', alerts, 'list'),
        rules: leaf('list alert rules', alerts, 'rules'),
        create: leaf('create an alert rule and print its id', alerts, 'create'),
        delete: leaf('delete an alert rule with its alerts', alerts, 'remove'),
      },
    },
    webhooks: {
      summary: 'list, create and delete webhook endpoints, and replay deliveries',
      commands: {
        list: leaf('list webhook endpoints', webhooks, 'list'),
        create: leaf('create a webhook endpoint and print its secret once', webhooks, 'create'),
        delete: leaf('delete a webhook endpoint', webhooks, 'remove'),
        test: leaf('send a test message', webhooks, 'test'),
        deliveries: leaf('list deliveries and dead letters of an endpoint', webhooks, 'deliveries'),
        replay: leaf('send deliveries again', webhooks, 'replay'),
      },
    },
    api: leaf('call a path of the REST API', api, 'api'),
  }),
  ...under('Command line:', {
    login: leaf('get a key for this machine in the browser', login, 'login'),
    logout: leaf('revoke the key of this machine and forget it', login, 'logout'),
    whoami: leaf('show the server, the key and its rights', context, 'whoami'),
    context: {
      summary: 'choose the server, key and workspace that commands use',
      commands: {
        list: leaf('list the contexts of this machine', context, 'list'),
        use: leaf('choose a context', context, 'use'),
        add: leaf('store a server with a key and choose it', context, 'add'),
        remove: leaf('remove a context and its key from this machine', context, 'remove'),
      },
    },
    version: leaf('print the versions of the command line and of the server', context, 'version'),
    complete: leaf('print the script that completes commands in a shell by TAB', completion, 'printScript'),
  }),
}
