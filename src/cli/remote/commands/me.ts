/** `whoami`: the server, the credential and its rights. `version`: the versions of the command line and of the server. */
import { command } from '../../terminal/command.ts'
import { VERSION } from '../../terminal/version.ts'
import { connect, connectionOf, remoteCommand, warnIfNewer, withErrors } from '../frame/call.ts'

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
