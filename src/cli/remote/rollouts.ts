/** `status`, `wait`, `rollback`: shows a deployment, waits for its rollout, and redeploys an earlier revision. */
import type { Client, Deployment } from '../../client/index.ts'
import { remoteCommand } from './call.ts'
import { followRevision, WAIT_HELP, WAIT_OPTIONS } from './follow.ts'

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

export const rollBack = remoteCommand({
  usage: 'NAME|ID [--to REVISION] [--no-wait] [--timeout S] [--logs] [--json]',
  summary: 'redeploys the revision that served before the current one',
  details: `
  NAME|ID           the deployment
  --to REVISION     the revision; by default the newest deployed revision that is older than the active one
  --no-wait         don't wait for the end of the rollout
${WAIT_HELP}`,
  options: { to: { type: 'string' }, 'no-wait': { type: 'boolean', default: false }, ...WAIT_OPTIONS },
  words: 1,
  async work(call) {
    const { client, values, words, say } = call
    const deployment = await client.find(words[0]!)
    const { id, name } = deployment
    const revisionId = await client.rollback({ deploymentId: id, revisionId: values.to })
    say(`${name}: redeploying revision ${revisionId}`)
    if (!values['no-wait']) return followRevision(call, deployment, revisionId)
    return {
      outcome: 'done',
      json: { deployment_id: id, name, revision_id: revisionId },
      text: `To wait: npm run cli -- wait ${id}`,
    }
  },
})
