/** `listeners list|create|delete`: the clusters that run deployments. */
import { formatTable } from '../../terminal/command.ts'
import { remoteCommand, repeatable } from '../frame/call.ts'
import { addLimitOption, readPages } from '../frame/pages.ts'

export const list = remoteCommand({
  examples: ['listeners list', 'listeners list --json'],
  define: (command) => addLimitOption(command),
  async work({ client, say }, _, { limit }) {
    const found = await readPages(limit, (query) => client.api.GET('/v2/listeners', { params: { query } }))
    if (found.length === 0) say('There are no listeners.')
    const rows = found.map(({ compute_id, status, version, compute_config, last_seen_at, id }) => [
      ...[compute_id, status, version ?? '-', compute_config.k8s_namespaces?.join(',') || '-'],
      ...[last_seen_at ?? 'never', id],
    ])
    return {
      outcome: 'done',
      json: { listeners: found },
      text: rows.length === 0 ? '' : formatTable([['NAME', 'STATUS', 'VERSION', 'NAMESPACES', 'SEEN', 'ID'], ...rows]),
    }
  },
})

export const create = remoteCommand({
  examples: ['listeners create prod-eu --namespace agents'],
  define: (command) =>
    command
      .argument('<name>', 'the name of the cluster')
      .requiredOption('--namespace <name>', 'a namespace for deployments; repeatable', repeatable),
  async work({ client, say }, [compute_id], { namespace: k8s_namespaces }) {
    const { data } = await client.api.POST('/v2/listeners', {
      body: { compute_type: 'k8s', compute_id, compute_config: { k8s_namespaces } },
    })
    const { id } = data!
    say(`Its key: pilothouse keys create --role listener --listener ${id} --name ${compute_id}`)
    return { outcome: 'done', json: { listener: data }, text: id }
  },
})

export const remove = remoteCommand({
  examples: ['listeners delete 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --yes'],
  define: (command) => command.argument('<id>', 'an id that `listeners list` shows').option('-y, --yes', 'don’t ask'),
  async work({ client, confirm }, [listener_id], { yes }) {
    const params = { path: { listener_id } }
    const { data } = await client.api.GET('/v2/listeners/{listener_id}', { params })
    await confirm(`Delete the listener ${data!.compute_id} and revoke its keys?`, yes)
    await client.api.DELETE('/v2/listeners/{listener_id}', { params })
    return { outcome: 'done', json: { listener_id }, text: `Deleted the listener ${data!.compute_id}.` }
  },
})
