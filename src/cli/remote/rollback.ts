/** `rollback`: runs again what was deployed before. */
import { remoteCommand } from './call.ts'
import { followRevision, WAIT_HELP, WAIT_OPTIONS } from './follow.ts'

export const rollBack = remoteCommand({
  usage: 'NAME|ID [--to REVISION] [--no-wait] [--timeout S] [--logs] [--json]',
  summary: 'runs again what was deployed before the revision that serves now',
  details: `
  NAME|ID           of the deployment
  --to REVISION     to this revision; otherwise to the newest one that was deployed and is older than the active one
  --no-wait         don't wait for its end
${WAIT_HELP}`,
  options: { to: { type: 'string' }, 'no-wait': { type: 'boolean', default: false }, ...WAIT_OPTIONS },
  words: 1,
  async work(call) {
    const { client, values, words, say } = call
    const deployment = await client.find(words[0]!)
    const { id, name } = deployment
    const revisionId = await client.rollback({ deploymentId: id, revisionId: values.to })
    say(`${name}: back to revision ${revisionId}`)
    if (!values['no-wait']) return followRevision(call, deployment, revisionId)
    return {
      outcome: 'done',
      json: { deployment_id: id, name, revision_id: revisionId },
      text: `To wait: npm run cli -- wait ${id}`,
    }
  },
})
