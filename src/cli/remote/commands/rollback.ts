/** `rollback`: redeploys an earlier revision. */
import { remoteCommand } from '../frame/call.ts'
import { WAIT_DETAILS } from '../frame/follow.ts'
import { addRolloutOptions, rolloutResult } from '../frame/rollout.ts'

export const rollback = remoteCommand({
  examples: ['rollback my-agent', 'rollback my-agent --to 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --no-wait'],
  details: WAIT_DETAILS,
  define: (command) =>
    addRolloutOptions(
      command
        .argument('<name>', 'the deployment, by name or id')
        .option(
          '--to <revision>',
          'the revision; by default the newest deployed one that is older than the active one',
        ),
    ),
  async work(call, [nameOrId], options) {
    const { client, say } = call
    const deployment = await client.find(nameOrId)
    const revisionId = await client.rollback({ deploymentId: deployment.id, revisionId: options.to })
    say(`${deployment.name}: redeploying revision ${revisionId}`)
    return rolloutResult(call, options, deployment, revisionId)
  },
})
