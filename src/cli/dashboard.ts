/** `dashboard`: an address that opens the dashboard signed in, by whoever may run commands on the server's machine. */
import { dashboardAddress } from '../app/dashboard-address.ts'
import { hashKey } from '../domain/keys/key.ts'
import { theOrganization, theWorkspace, withCore } from './core.ts'
import { type Command, readOptions } from './terminal/command.ts'

export const openDashboard: Command = {
  usage: '[--workspace ID] [--organization-id ID]',
  summary:
    'prints an address that opens the dashboard signed in as an admin: once, within 10 minutes; --workspace: for this one alone',
  async run(args) {
    const { values } = readOptions(args, { workspace: { type: 'string' }, 'organization-id': { type: 'string' } })
    await withCore(async (core) => {
      const address =
        values.workspace === undefined
          ? dashboardAddress(core, {
              organizationId: (await theOrganization(core, values['organization-id'])).id,
              workspaceId: null,
            })
          : theWorkspace(core, values.workspace).then(({ id, organizationId }) =>
              dashboardAddress(core, { organizationId, workspaceId: id }),
            )
      // the address alone on stdout, so that it can be handed to a program that opens it
      process.stderr.write('Opens the dashboard once, within 10 minutes:\n')
      process.stdout.write(`${await address}\n`)
    })
  },
}

/**
 * The address for the server at `url`, where this machine has its database: the one that knows `key`. Null: it has not, or the
 * address can't be made.
 */
export async function theServersAddress({ url, key }: { url: string; key: string }): Promise<string | null> {
  let address: string | null = null
  const make = withCore(async (core) => {
    const owner = await core.db.apiKey.findUnique({ where: { hash: hashKey(key) } })
    if (owner) address = await dashboardAddress({ ...core, publicUrl: () => url }, owner)
  })
  await make.catch(() => undefined)
  return address
}
