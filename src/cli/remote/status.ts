/** `status`: prints a deployment and its newest revisions. */
import { remoteCommand } from './call.ts'

export const showStatus = remoteCommand({
  usage: 'NAME|ID [--json]',
  summary: 'shows a deployment and its newest revisions',
  details: '  NAME|ID           the deployment',
  options: {},
  words: 1,
  async work({ client, words }) {
    const deployment = await client.find(words[0]!)
    const params = { path: { deployment_id: deployment.id }, query: { limit: 5 } }
    const { data } = await client.api.GET('/v2/deployments/{deployment_id}/revisions', { params })
    const revisions = data!.resources
    const { id, name, status, serving, status_message, url, active_revision_id } = deployment
    const lines = [
      `${name}  ${id}`,
      `  ${status}, ${serving ? 'serving' : 'not serving'}${status_message === null ? '' : `: ${status_message}`}`,
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
