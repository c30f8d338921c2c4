/** `whoami`: shows the server, the credential and its rights. */
import { remoteCommand } from '../frame/call.ts'
import { warnIfNewer } from '../frame/server-version.ts'

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
