/** `list`: the deployments of the workspace. */
import { formatTable } from '../../terminal/command.ts'
import { remoteCommand } from '../frame/call.ts'
import { addLimitOption, readPages } from '../frame/pages.ts'

export const list = remoteCommand({
  examples: ['list', 'list --name support --status READY', 'list --json'],
  define: (command) =>
    addLimitOption(
      command
        .option('--name <part>', 'only names that contain this; case is ignored')
        .option('--status <status>', 'only this status, for example READY'),
    ),
  async work({ client }, _, { name: name_contains, status, limit }) {
    const filter = { name_contains, status: status?.toUpperCase() as 'READY' | undefined }
    const found = await readPages(limit, (page) =>
      client.api.GET('/v2/deployments', { params: { query: { ...filter, ...page } } }),
    )
    const rows = found.map(({ name, status, serving, url, id }) => [
      name,
      status,
      serving ? 'yes' : 'no',
      url ?? '-',
      id,
    ])
    return {
      outcome: 'done',
      json: { deployments: found.map((it) => ({ ...it, secrets: it.secrets.map((secret) => secret.name) })) },
      text: rows.length === 0 ? '' : formatTable([['NAME', 'STATUS', 'SERVING', 'URL', 'ID'], ...rows]),
    }
  },
})
