/** `status`: shows a deployment and its newest revisions. */
import { remoteCommand } from '../frame/call.ts'

export const status = remoteCommand({
  examples: ['status my-agent', 'status my-agent --json'],
  define: (command) => command.argument('<name>', 'the deployment, by name or id'),
  async work({ client }, [nameOrId]) {
    const deployment = await client.find(nameOrId)
    const params = { path: { deployment_id: deployment.id }, query: { limit: 5 } }
    const { data } = await client.api.GET('/v2/deployments/{deployment_id}/revisions', { params })
    const revisions = data!.resources
    const { id, name, serving, status_message, url, active_revision_id } = deployment
    const lines = [
      `${name}  ${id}`,
      `  ${deployment.status}, ${serving ? 'serving' : 'not serving'}${status_message === null ? '' : `: ${status_message}`}`,
      ...(url === null ? [] : [`  ${url}`]),
      ...revisions.map(
        (revision) =>
          `  ${revision.id}  ${revision.status.padEnd(15)} ${revision.created_at}${revision.id === active_revision_id ? '  active' : ''}`,
      ),
    ]
    return {
      outcome: 'done',
      json: { deployment: { ...deployment, secrets: deployment.secrets.map((s) => s.name) }, revisions },
      text: lines.join('\n'),
    }
  },
})
