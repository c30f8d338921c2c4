/** `rollback`: redeploys an earlier revision. */
import { remoteCommand } from './call.ts'
import { followRevision, WAIT_HELP, WAIT_OPTIONS } from './follow.ts'

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
