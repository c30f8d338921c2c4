/** `server dashboard`: prints a URL that opens the dashboard signed in, for operators of the server's machine. */
import { dashboardUrl } from '../../app/dashboard-url.ts'
import { hashKey } from '../../domain/keys/key.ts'
import { command } from '../terminal/command.ts'
import { selectOrganization, selectWorkspace, withCore } from './core.ts'

export const dashboard = command({
  examples: ['server dashboard', 'server dashboard --workspace 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1'],
  define: (command) =>
    command
      .option('--workspace <id>', 'only for this workspace')
      .option('--organization-id <id>', 'the organization, if there are several'),
  async work({ say }, _, options) {
    return withCore(async (core) => {
      const address =
        options.workspace === undefined
          ? dashboardUrl(core, {
              organizationId: (await selectOrganization(core, options.organizationId)).id,
              workspaceId: null,
            })
          : selectWorkspace(core, options.workspace).then(({ id, organizationId }) =>
              dashboardUrl(core, { organizationId, workspaceId: id }),
            )
      // stdout has only the URL, so that a script can pass it to a browser
      say('This URL opens the dashboard once, within 10 minutes:')
      const url = await address
      return { outcome: 'done', json: { url }, text: url }
    })
  },
})

/** Returns the URL for the server at `url`, or null if this machine's database does not have the API key `key`. */
export async function serverDashboardUrl({ url, key }: { url: string; key: string }): Promise<string | null> {
  let address: string | null = null
  const lookup = withCore(async (core) => {
    const owner = await core.db.apiKey.findUnique({ where: { hash: hashKey(key) } })
    if (owner) address = await dashboardUrl({ ...core, publicUrl: () => url }, owner)
  })
  await lookup.catch(() => undefined)
  return address
}
