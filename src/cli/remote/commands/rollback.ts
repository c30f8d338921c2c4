/** `rollback`: redeploys an earlier revision. */
import { remoteCommand } from '../frame/call.ts'
import { addWaitOptions, followRevision, WAIT_DETAILS } from '../frame/follow.ts'

export const rollback = remoteCommand({
  examples: ['rollback my-agent', 'rollback my-agent --to 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --no-wait'],
  details: WAIT_DETAILS,
  define: (command) =>
    addWaitOptions(
      command
        .argument('<name>', 'the deployment, by name or id')
        .option('--to <revision>', 'the revision; by default the newest deployed one that is older than the active one')
        .option('--no-wait', 'don’t wait for the end of the rollout'),
    ),
  async work(call, [nameOrId], options) {
    const { client, say } = call
    const deployment = await client.find(nameOrId)
    const { id, name } = deployment
    const revisionId = await client.rollback({ deploymentId: id, revisionId: options.to })
    say(`${name}: redeploying revision ${revisionId}`)
    if (options.wait) return followRevision(call, options, deployment, revisionId)
    return {
      outcome: 'done',
      json: { deployment_id: id, name, revision_id: revisionId },
      text: `To wait: pilothouse wait ${id}`,
    }
  },
})
