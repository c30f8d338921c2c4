/** `wait`: waits until a rollout has ended. */
import type { Client, Deployment } from '../../client/index.ts'
import { remoteCommand } from './call.ts'
import { followRevision, WAIT_HELP, WAIT_OPTIONS } from './follow.ts'

export const waitForRevision = remoteCommand({
  usage: 'NAME|ID [--revision ID] [--timeout S] [--logs] [--json]',
  summary: 'waits until a deployment’s newest rollout has ended',
  details: `
  NAME|ID           the deployment
  --revision ID     the revision; by default that of the newest rollout
${WAIT_HELP}`,
  options: { revision: { type: 'string' }, ...WAIT_OPTIONS },
  words: 1,
  async work(call) {
    const deployment = await call.client.find(call.words[0]!)
    return followRevision(call, deployment, call.values.revision ?? (await newestRollout(call.client, deployment)))
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
