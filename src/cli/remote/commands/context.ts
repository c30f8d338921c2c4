/**
 * `context list|use|add|remove`: the servers and workspaces that the command line knows (../frame/contexts.ts). `whoami`: the
 * server, the credential and its rights. `version`: the versions of the command line and of the server.
 */
import { command, formatTable, UsageError } from '../../terminal/command.ts'
import { VERSION } from '../../terminal/io.ts'
import { connect, connectionOf, remoteCommand, warnIfNewer, withErrors } from '../frame/call.ts'
import {
  checkName,
  contextNames,
  currentName,
  readContext,
  removeContext,
  saveContext,
  useContext,
} from '../frame/contexts.ts'

export const list = command({
  examples: ['context list', 'context list --json'],
  define: (command) => command,
  async work({ env }) {
    const current = currentName(env)
    const contexts = contextNames(env).map((name) => {
      const { url, tenant } = readContext(env, name)!
      return { name, url, tenant_id: tenant ?? null, current: name === current }
    })
    const rows = contexts.map((it) => [it.current ? '*' : '', it.name, it.url, it.tenant_id ?? '-'])
    const text =
      rows.length === 0
        ? 'There is no context. `pilothouse login` creates one.'
        : formatTable([['', 'NAME', 'URL', 'WORKSPACE'], ...rows])
    return { outcome: 'done', json: { contexts }, text }
  },
})

export const use = command({
  examples: ['context use staging'],
  define: (command) => command.argument('<context>', 'its name'),
  async work({ env }, [name]) {
    const context = existing(env, name)
    useContext(env, name)
    return { outcome: 'done', json: { name, url: context.url }, text: `Commands now use ${name} (${context.url}).` }
  },
})

export const add = command({
  examples: [
    'context add prod --url https://control.example.com',
    'context add staging --workspace 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1',
  ],
  details: 'The key comes from CONTROL_PLANE_API_KEY, otherwise from the current context of the same server.',
  define: (command) =>
    command
      .argument('<name>', 'a name for it')
      .option('--url <url>', 'the server; by default that of the current context')
      .option('--workspace <id>', 'the workspace, for an organization-wide key'),
  async work({ env, say }, [name], options) {
    checkName(name)
    if (contextNames(env).includes(name)) throw new UsageError(`There is a context ${name} already. Remove it first.`)
    const { url, key, tenant } = connectionOf(options, env)
    if (key === undefined)
      throw new UsageError(`There is no API key for ${url}. Set CONTROL_PLANE_API_KEY, or run \`pilothouse login\`.`)
    connect({ url, key, tenant }, 0, say)
    saveContext(env, { url, key, tenant }, name)
    return {
      outcome: 'done',
      json: { name, url, tenant_id: tenant ?? null },
      text: `Added ${name} (${url}). Commands now use it.`,
    }
  },
})

export const remove = command({
  examples: ['context remove staging --yes'],
  details: 'The key is removed from this machine. It stays valid: `pilothouse keys revoke` revokes it.',
  define: (command) => command.argument('<context>', 'its name').option('-y, --yes', 'don’t ask'),
  async work({ env, confirm }, [name], { yes }) {
    if (!contextNames(env).includes(checkName(name))) throw unknown(name)
    await confirm(`Remove the context ${name} and its key from this machine?`, yes)
    removeContext(env, name)
    return { outcome: 'done', json: { name }, text: `Removed ${name}.` }
  },
})

function existing(env: Parameters<typeof readContext>[0], name: string) {
  const context = readContext(env, name)
  if (context) return context
  throw unknown(name)
}

const unknown = (name: string) => new UsageError(`There is no context ${name}. \`pilothouse context list\` shows them.`)

/** `whoami`: the server, the credential and its rights. `version`: the versions of the command line and of the server. */
export const whoami = remoteCommand({
  examples: ['whoami', 'whoami --context prod --json'],
  define: (command) => command,
  async work(call) {
    const { client, connection } = call
    const { data } = await client.api.GET('/v2/me')
    const { actor, role, secrets_read, organization_wide, workspace, organization, server } = data!
    warnIfNewer(server.version, call)
    const lines = [
      `${actor.name ?? actor.kind} (${actor.kind.replaceAll('_', ' ')})`,
      `  role          ${role}${secrets_read ? ', reads secrets' : ''}`,
      `  workspace     ${workspace.name}  ${workspace.id}${organization_wide ? '  (valid in every workspace)' : ''}`,
      `  organization  ${organization.name}  ${organization.id}`,
      `  server        ${connection.url}, version ${server.version}`,
    ]
    return { outcome: 'done', json: { url: connection.url, me: data! }, text: lines.join('\n') }
  },
})

export const version = command({
  examples: ['version', 'version --json'],
  details: 'Without a key it prints only the version of the command line.',
  define: (command) => command.option('--context <name>', 'the server of this context'),
  async work(call, _, options) {
    const { url, key, tenant } = connectionOf(options, call.env)
    const own = `pilothouse ${VERSION}`
    if (key === undefined) return { outcome: 'done', json: { version: VERSION, server: null }, text: own }
    return withErrors(async () => {
      const { data } = await connect({ url, key, tenant }, 0, call.say).api.GET('/v2/me')
      const server = { url, version: data!.server.version }
      warnIfNewer(server.version, call)
      return { outcome: 'done', json: { version: VERSION, server }, text: `${own}\nserver ${server.version} (${url})` }
    })
  },
})
