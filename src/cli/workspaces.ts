/** `workspaces create`, `workspaces list`: the tenants of this installation. */
import { printableName } from '../domain/parsing/fields.ts'
import { transaction } from '../domain/transaction/context.ts'
import { COMMAND_LINE } from '../domain/values/event-types.ts'
import { insertWorkspace } from '../domain/workspaces.ts'
import { selectOrganization, withCore } from './core.ts'
import { type Command, printTable, readOptions, UsageError } from './terminal/command.ts'

export const createWorkspaces: Command = {
  usage: '--name NAME [--git-directory] [--organization-id ID]',
  summary:
    'creates a workspace and prints its id; --git-directory: with a git integration for the repositories in GIT_DIRECTORY',
  async run(args) {
    const { values } = readOptions(args, {
      name: { type: 'string' },
      'git-directory': { type: 'boolean', default: false },
      'organization-id': { type: 'string' },
    })
    const name = printableName.safeParse(values.name)
    if (!name.success) throw new UsageError('--name must have 1 to 128 printable characters.')
    await withCore(async (core) => {
      const organization = await selectOrganization(core, values['organization-id'])
      const workspace = await transaction(core, (tx) =>
        insertWorkspace(tx, {
          organizationId: organization.id,
          name: name.data,
          directoryIntegration: values['git-directory'],
          actor: COMMAND_LINE,
        }),
      )
      process.stdout.write(`${workspace.id}\n`)
    })
  },
}

export const listWorkspaces: Command = {
  usage: '',
  summary: 'lists the workspaces; X-Tenant-Id takes their ids',
  async run(args) {
    readOptions(args, {})
    await withCore(async (core) => {
      const all = await core.db.workspace.findMany({ include: { organization: true }, orderBy: { createdAt: 'asc' } })
      printTable([['ID', 'ORGANIZATION', 'NAME'], ...all.map((row) => [row.id, row.organization.name, row.name])])
    })
  },
}
