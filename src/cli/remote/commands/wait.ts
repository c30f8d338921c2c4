/** `wait`: waits until a deployment's newest rollout has ended. */
import type { Client, Deployment } from '../../../client/index.ts'
import { remoteCommand } from '../frame/call.ts'
import { addWaitOptions, followRevision, WAIT_DETAILS } from '../frame/follow.ts'

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

const UNFINISHED_STATUSES = 'CREATING,QUEUED,AWAITING_BUILD,BUILDING,AWAITING_DEPLOY,DEPLOYING'
const TURN_STATUSES = ['AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING']

/** Returns the revision of the newest open rollout, which may redeploy an older revision; otherwise the latest revision. */
async function newestRollout({ api }: Client, { id, latest_revision_id }: Deployment): Promise<string> {
  const params = { path: { deployment_id: id }, query: { status: UNFINISHED_STATUSES } }
  const { data } = await api.GET('/v2/deployments/{deployment_id}/revisions', { params })
  const { resources } = data!
  // at most one revision waits while another has its turn; the waiting one has the newer rollout
  const open = resources.find(({ status }) => !TURN_STATUSES.includes(status)) ?? resources[0]
  return open?.id ?? latest_revision_id!
}
