/** `server workspaces create|list`: the tenants of this installation. */
import { printableName } from '../../domain/parsing/fields.ts'
import { transaction } from '../../domain/transaction/context.ts'
import { COMMAND_LINE } from '../../domain/values/event-types.ts'
import { insertWorkspace } from '../../domain/workspaces.ts'
import { command, formatTable, UsageError } from '../terminal/command.ts'
import { selectOrganization, withCore } from './core.ts'

export const create = command({
  examples: ['server workspaces create --name staging'],
  define: (command) =>
    command
      .requiredOption('--name <name>', 'the name')
      .option('--git-directory', 'with a git integration for the repositories in GIT_DIRECTORY', false)
      .option('--organization-id <id>', 'the organization, if there are several'),
  async work(_call, _args, values) {
    const name = printableName.safeParse(values.name)
    if (!name.success) throw new UsageError('--name must have 1 to 128 printable characters.')
    return withCore(async (core) => {
      const organization = await selectOrganization(core, values.organizationId)
      const workspace = await transaction(core, (tx) =>
        insertWorkspace(tx, {
          organizationId: organization.id,
          name: name.data,
          directoryIntegration: values.gitDirectory,
          actor: COMMAND_LINE,
        }),
      )
      return { outcome: 'done', json: { id: workspace.id }, text: workspace.id }
    })
  },
})

export const list = command({
  examples: ['server workspaces list'],
  define: (command) => command,
  async work() {
    return withCore(async (core) => {
      const all = await core.db.workspace.findMany({ include: { organization: true }, orderBy: { createdAt: 'asc' } })
      const text = formatTable([
        ['ID', 'ORGANIZATION', 'NAME'],
        ...all.map((row) => [row.id, row.organization.name, row.name]),
      ])
      const workspaces = all.map(({ id, name, organization }) => ({
        id,
        name,
        organization: { id: organization.id, name: organization.name },
      }))
      return { outcome: 'done', json: { workspaces }, text }
    })
  },
})
