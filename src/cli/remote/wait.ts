/** `wait`: until a rollout has ended. */
import type { Client, Deployment } from '../../client/index.ts'
import { remoteCommand } from './call.ts'
import { followRevision, WAIT_HELP, WAIT_OPTIONS } from './follow.ts'

export const waitForRevision = remoteCommand({
  usage: 'NAME|ID [--revision ID] [--timeout S] [--logs] [--json]',
  summary: 'waits until a deployment’s newest rollout has ended',
  details: `
  NAME|ID           of the deployment
  --revision ID     of this revision instead
${WAIT_HELP}`,
  options: { revision: { type: 'string' }, ...WAIT_OPTIONS },
  words: 1,
  async work(call) {
    const deployment = await call.client.find(call.words[0]!)
    return followRevision(call, deployment, call.values.revision ?? (await newestRollout(call.client, deployment)))
  },
})

const OPEN = 'CREATING,QUEUED,AWAITING_BUILD,BUILDING,AWAITING_DEPLOY,DEPLOYING'
const IN_TURN = ['AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING']

/** The one under way that is the newest, which may be of an older revision that was redeployed; else the latest revision. */
async function newestRollout({ api }: Client, { id, latest_revision_id }: Deployment): Promise<string> {
  const params = { path: { deployment_id: id }, query: { status: OPEN } }
  const { data } = await api.GET('/v2/deployments/{deployment_id}/revisions', { params })
  const { resources } = data!
  // at most one waits while one is worked on, and the one that waits is the newer one
  const open = resources.find(({ status }) => !IN_TURN.includes(status)) ?? resources[0]
  return open?.id ?? latest_revision_id!
}
