/** `events`: the log of changes of the workspace or of one deployment; `-f` follows it. */
import type { Client, Event } from '../../../client/index.ts'
import { EXIT_HELP, remoteCommand, repeatable, wholeNumber } from '../frame/call.ts'

export const events = remoteCommand({
  examples: ['events -f', 'events my-agent --last 20', 'events my-agent --type revision.status -f --json'],
  details: `With -f and --json each line is one JSON document. -f with a deployment ends when it is torn down.
${EXIT_HELP}`,
  define: (command) =>
    command
      .argument('[deployment]', 'only its events; by name or id')
      .option('-f, --follow', 'also print new events as they happen')
      .option('--last <n>', 'the number of newest events', wholeNumber(1, 100), 20)
      .option('--type <type>', 'only this type, for example revision.status or deployment.*; repeatable', repeatable),
  async work({ client, print, json }, [nameOrId], { follow, type: types, last }) {
    const deploymentId = nameOrId === undefined ? undefined : (await client.find(nameOrId)).id
    const newest = await newestEvents(client, deploymentId, { types, last })
    if (!follow) return { outcome: 'done', json: { events: newest }, text: newest.map(describe).join('\n') }
    const show = (event: Event) => print(json ? JSON.stringify(event) : describe(event))
    newest.forEach(show)
    for await (const event of client.watch({ deploymentId, types, after: newest.at(-1)?.cursor })) show(event)
    return { outcome: 'done', json: null, text: '' }
  },
})

/** The oldest of them first. */
async function newestEvents(
  { api }: Client,
  deployment_id: string | undefined,
  { types, last }: { types: string[] | undefined; last: number },
): Promise<Event[]> {
  const query = { types: types?.join(','), limit: last, order: 'desc' } as const
  const { data } =
    deployment_id === undefined
      ? await api.GET('/v2/events', { params: { query } })
      : await api.GET('/v2/deployments/{deployment_id}/events', { params: { path: { deployment_id }, query } })
  return data!.resources.toReversed()
}

function describe({ occurred_at, type, deployment_id, subject_id, from, to, message, actor, changed }: Event): string {
  const status = to === null ? '' : `${from ?? ''} → ${to}`.trim()
  const parts = [
    occurred_at,
    type,
    deployment_id ?? subject_id,
    status,
    changed.join(','),
    actor?.name && `by ${actor.name}`,
    message,
  ]
  return parts.filter((part) => part != null && part !== '').join('  ')
}
