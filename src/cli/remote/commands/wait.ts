/** `wait`: waits until a deployment's newest rollout has ended. */
import { remoteCommand } from '../frame/call.ts'
import { addWaitOptions, followRevision, WAIT_DETAILS } from '../frame/follow.ts'
import { newestRollout } from '../frame/rollout.ts'

export const wait = remoteCommand({
  examples: ['wait my-agent', 'wait my-agent --revision 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --timeout 600'],
  details: WAIT_DETAILS,
  define: (command) =>
    addWaitOptions(
      command
        .argument('<name>', 'the deployment, by name or id')
        .option('--revision <id>', 'the revision; by default that of the newest rollout'),
    ),
  async work(call, [nameOrId], options) {
    const deployment = await call.client.find(nameOrId)
    return followRevision(call, options, deployment, options.revision ?? (await newestRollout(call.client, deployment)))
  },
})
