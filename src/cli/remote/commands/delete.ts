/** `delete`: deletes a deployment. */
import { remoteCommand } from '../frame/call.ts'

export const remove = remoteCommand({
  examples: ['delete my-agent', 'delete my-agent --yes'],
  define: (command) =>
    command
      .argument('<name>', 'the deployment, by name or id')
      .option('-y, --yes', 'don’t ask')
      .option('--force', 'an admin gives up resources that can’t be torn down', false),
  async work({ client, confirm }, [nameOrId], { yes, force }) {
    const { id, name, url, serving } = await client.find(nameOrId)
    const state = serving && url !== null ? `, which serves at ${url}` : ''
    await confirm(`Delete the deployment ${name}${state}, with its revisions and secrets?`, yes)
    await client.api.DELETE('/v2/deployments/{deployment_id}', {
      params: { path: { deployment_id: id }, query: { force } },
    })
    return {
      outcome: 'done',
      json: { deployment_id: id, name },
      text: `Deleted ${name}. It is torn down now; its name is free.`,
    }
  },
})
