/** `webhooks list|create|delete|test|deliveries|replay`: the webhook endpoints of the workspace. */
import { Option } from '@commander-js/extra-typings'
import { CommandError, formatTable } from '../../terminal/command.ts'
import { remoteCommand, repeatable } from '../frame/call.ts'
import { addLimitOption, readPages } from '../frame/pages.ts'

const ID = '0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1'
const ID_HELP = 'an id that `webhooks list` shows'
const pathOf = (webhook_endpoint_id: string) => ({ params: { path: { webhook_endpoint_id } } })

export const list = remoteCommand({
  examples: ['webhooks list', 'webhooks list --json'],
  define: (command) => addLimitOption(command),
  async work({ client }, _, { limit }) {
    const found = await readPages(limit, (query) => client.api.GET('/v2/webhook-endpoints', { params: { query } }))
    const rows = found.map(({ name, form, enabled, silent_since, event_types, url, id }) => [
      ...[name, form, enabled ? (silent_since ? `silent since ${silent_since}` : 'enabled') : 'disabled'],
      ...[event_types.join(','), url, id],
    ])
    const text = formatTable([['NAME', 'FORM', 'STATE', 'EVENTS', 'URL', 'ID'], ...rows])
    return { outcome: 'done', json: { webhook_endpoints: found }, text }
  },
})

export const create = remoteCommand({
  examples: [
    'webhooks create https://hooks.example.com/pilothouse --name on-call',
    'webhooks create https://hooks.slack.com/services/T0/B0/x --name slack --form slack --event "alert.*"',
  ],
  define: (command) =>
    command
      .argument('<url>', 'where messages are sent')
      .requiredOption('--name <name>', 'what the endpoint is for')
      .addOption(
        new Option('--form <form>', 'signed JSON, or a text for Slack').choices(['standard', 'slack'] as const),
      )
      .option('--event <type>', 'a type of event, `<resource>.*` or `*`; repeatable', repeatable),
  async work({ client, say }, [url], { name, form, event: event_types }) {
    const { data } = await client.api.POST('/v2/webhook-endpoints', { body: { name, url, form, event_types } })
    const { webhook_endpoint, secret } = data!
    // the answer to the first try was lost, and the secret was only in it
    if (secret === null)
      throw new CommandError(
        `The server created the endpoint ${webhook_endpoint.id}, but its secret was lost. Rotate it in the dashboard.`,
      )
    say(`Created the endpoint ${webhook_endpoint.id}. Store the secret now; it is not shown again:`)
    return { outcome: 'done', json: data!, text: secret }
  },
})

export const remove = remoteCommand({
  examples: [`webhooks delete ${ID} --yes`],
  define: (command) => command.argument('<id>', ID_HELP).option('-y, --yes', 'don’t ask'),
  async work({ client, confirm }, [id], { yes }) {
    await confirm(`Delete the endpoint ${id} with its deliveries?`, yes)
    await client.api.DELETE('/v2/webhook-endpoints/{webhook_endpoint_id}', pathOf(id))
    return { outcome: 'done', json: { webhook_endpoint_id: id }, text: `Deleted ${id}.` }
  },
})

export const test = remoteCommand({
  examples: [`webhooks test ${ID}`],
  define: (command) => command.argument('<id>', ID_HELP),
  async work({ client }, [id]) {
    const { data } = await client.api.POST('/v2/webhook-endpoints/{webhook_endpoint_id}/test', pathOf(id))
    const { delivered, answer, error, milliseconds } = data!
    const text = delivered ? `The endpoint answered ${answer} in ${milliseconds} ms.` : (error ?? '')
    return { outcome: delivered ? 'done' : 'failed', json: data!, text }
  },
})

export const deliveries = remoteCommand({
  examples: [`webhooks deliveries ${ID} --state dead`],
  define: (command) =>
    addLimitOption(
      command
        .argument('<id>', ID_HELP)
        .addOption(
          new Option('--state <state>', 'only deliveries in this state').choices([
            'pending',
            'delivered',
            'dead',
          ] as const),
        ),
    ),
  async work({ client }, [id], { limit, state }) {
    const found = await readPages(limit, (page) =>
      client.api.GET('/v2/webhook-endpoints/{webhook_endpoint_id}/deliveries', {
        params: { ...pathOf(id).params, query: { ...page, state } },
      }),
    )
    const rows = found.map(({ created_at, event_type, state, tries, error, id }) => [
      ...[created_at, event_type, state, String(tries), error ?? '-', id],
    ])
    const text = formatTable([['CREATED', 'EVENT', 'STATE', 'TRIES', 'ERROR', 'ID'], ...rows])
    return { outcome: 'done', json: { deliveries: found }, text }
  },
})

export const replay = remoteCommand({
  examples: [`webhooks replay ${ID}`],
  define: (command) =>
    command
      .argument('<id>', ID_HELP)
      .argument('[deliveries...]', 'ids of deliveries; by default all dead letters of the endpoint'),
  async work({ client }, [id, delivery_ids]) {
    const body = delivery_ids.length > 0 ? { delivery_ids } : {}
    const path = '/v2/webhook-endpoints/{webhook_endpoint_id}/replay'
    const { data } = await client.api.POST(path, { ...pathOf(id), body })
    return { outcome: 'done', json: data!, text: `${data!.replayed} deliveries are sent again.` }
  },
})
