/** `interrupt`: ends an open rollout. */
import { remoteCommand } from '../frame/call.ts'
import { newestRollout } from '../frame/rollout.ts'

export const interrupt = remoteCommand({
  examples: ['interrupt my-agent', 'interrupt my-agent --revision 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1'],
  details: `The revision that serves continues to serve.
Exit codes: 0 interrupted, 1 the revision has ended already, 2 invalid arguments, 3 invalid credential, 7 server unreachable.`,
  define: (command) =>
    command
      .argument('<name>', 'the deployment, by name or id')
      .option('--revision <id>', 'the revision; by default that of the newest rollout'),
  async work({ client }, [nameOrId], options) {
    const deployment = await client.find(nameOrId)
    const revision_id = options.revision ?? (await newestRollout(client, deployment))
    const { data: revision } = await client.api.POST(
      '/v2/deployments/{deployment_id}/revisions/{revision_id}/interrupt',
      { params: { path: { deployment_id: deployment.id, revision_id } } },
    )
    return {
      outcome: 'done',
      json: { deployment_id: deployment.id, revision },
      text: `${deployment.name}: interrupted revision ${revision_id}`,
    }
  },
})
