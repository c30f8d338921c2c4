/** `redeploy`: rolls a revision out again. */
import { remoteCommand } from '../frame/call.ts'
import { WAIT_DETAILS } from '../frame/follow.ts'
import { addRolloutOptions, rolloutResult } from '../frame/rollout.ts'

export const redeploy = remoteCommand({
  examples: ['redeploy my-agent', 'redeploy my-agent --revision 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --no-wait'],
  details: WAIT_DETAILS,
  define: (command) =>
    addRolloutOptions(
      command
        .argument('<name>', 'the deployment, by name or id')
        .option('--revision <id>', 'the revision; by default the latest'),
    ),
  async work(call, [nameOrId], options) {
    const { client, say } = call
    const deployment = await client.find(nameOrId)
    const revision_id = options.revision ?? deployment.latest_revision_id!
    await client.api.POST('/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy', {
      params: { path: { deployment_id: deployment.id, revision_id } },
    })
    say(`${deployment.name}: redeploying revision ${revision_id}`)
    return rolloutResult(call, options, deployment, revision_id)
  },
})
