/** `open`: opens a deployment's address in the browser. */
import { openBrowser } from '../../terminal/browser.ts'
import { CommandError } from '../../terminal/command.ts'
import { remoteCommand } from '../frame/call.ts'

export const open = remoteCommand({
  examples: ['open my-agent', 'curl "$(pilothouse open my-agent)/ok"'],
  details: `Prints the address. On a terminal it also opens the browser: that of BROWSER, otherwise of the desktop.
Exit codes: 0 done, 1 the deployment has no address, 2 invalid arguments, 3 invalid credential, 7 server unreachable.`,
  define: (command) => command.argument('<name>', 'the deployment, by name or id'),
  async work({ client, env, interactive, json }, [nameOrId]) {
    const { id, name, url, why_not_live } = await client.find(nameOrId)
    if (url === null) throw new CommandError(`${name} has no address. ${why_not_live ?? ''}`.trim())
    if (interactive && !json) openBrowser(url, env)
    return { outcome: 'done', json: { deployment_id: id, name, url }, text: url }
  },
})
