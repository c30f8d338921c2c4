/** `dashboard`: prints a URL that opens the dashboard signed in, for operators of the server's machine. */
import { dashboardUrl } from '../app/dashboard-url.ts'
import { hashKey } from '../domain/keys/key.ts'
import { selectOrganization, selectWorkspace, withCore } from './core.ts'
import { type Command, readOptions } from './terminal/command.ts'

export const openDashboard: Command = {
  usage: '[--workspace ID] [--organization-id ID]',
  summary:
    'prints a URL that opens the dashboard signed in as an admin, once, within 10 minutes; --workspace: only for this workspace',
  async run(args) {
    const { values } = readOptions(args, { workspace: { type: 'string' }, 'organization-id': { type: 'string' } })
    await withCore(async (core) => {
      const address =
        values.workspace === undefined
          ? dashboardUrl(core, {
              organizationId: (await selectOrganization(core, values['organization-id'])).id,
              workspaceId: null,
            })
          : selectWorkspace(core, values.workspace).then(({ id, organizationId }) =>
              dashboardUrl(core, { organizationId, workspaceId: id }),
            )
      // stdout has only the URL, so that a script can pass it to a browser
      process.stderr.write('This URL opens the dashboard once, within 10 minutes:\n')
      process.stdout.write(`${await address}\n`)
    })
  },
}

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
