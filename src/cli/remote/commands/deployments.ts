/** A deployment as it is: `list`, `status`, `revisions`, `open`, and its end, `delete`. */
import { Option } from '@commander-js/extra-typings'
import type { Client, Revision } from '../../../client/index.ts'
import { CommandError, formatTable } from '../../terminal/command.ts'
import { openBrowser } from '../../terminal/io.ts'
import { remoteCommand } from '../frame/call.ts'
import { addLimitOption, readPages } from '../frame/pages.ts'

const STATUSES = ['AWAITING_DATABASE', 'READY', 'UNUSED', 'AWAITING_DELETE', 'UNKNOWN'] as const

export const list = remoteCommand({
  examples: ['list', 'list --name support --status READY', 'list --json'],
  define: (command) =>
    addLimitOption(
      command.option('--name <part>', 'only names that contain this; case is ignored').addOption(
        // the server checks it, because a newer server may have more
        new Option('--status <status>', 'only this status').choices(STATUSES).argParser((text) => text.toUpperCase()),
      ),
    ),
  async work({ client, say }, _, { name: name_contains, status, limit }) {
    const filter = { name_contains, status: status as (typeof STATUSES)[number] | undefined }
    const found = await readPages(limit, (page) =>
      client.api.GET('/v2/deployments', { params: { query: { ...filter, ...page } } }),
    )
    if (found.length === 0) say('There are no such deployments.')
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

export const status = remoteCommand({
  examples: ['status my-agent', 'status my-agent --json'],
  define: (command) => command.argument('<deployment>', 'by name or id'),
  async work({ client }, [nameOrId]) {
    const deployment = await client.find(nameOrId)
    const params = { path: { deployment_id: deployment.id }, query: { limit: 5 } }
    const { data } = await client.api.GET('/v2/deployments/{deployment_id}/revisions', { params })
    const revisions = data!.resources
    const { id, name, serving, status_message, url, active_revision_id, restart_count, last_restart } = deployment
    const lines = [
      `${name}  ${id}`,
      `  ${deployment.status}, ${serving ? 'serving' : 'not serving'}${status_message === null ? '' : `: ${status_message}`}`,
      ...(url === null ? [] : [`  ${url}`]),
      // an older server counts none
      ...(last_restart
        ? [`  restarts of the agent: ${restart_count}, last ${last_restart.at}: ${last_restart.message}`]
        : []),
      ...revisions.map(
        (revision) =>
          `  ${revision.id}  ${revision.status.padEnd(15)} ${revision.created_at}${revision.id === active_revision_id ? '  active' : ''}`,
      ),
    ]
    return {
      outcome: 'done',
      json: { deployment: { ...deployment, secrets: deployment.secrets.map((s) => s.name) }, revisions },
      text: lines.join('\n'),
    }
  },
})

export const revisions = remoteCommand({
  examples: ['revisions my-agent', 'revisions my-agent --limit 5 --json'],
  define: (command) => addLimitOption(command.argument('<deployment>', 'by name or id')),
  async work({ client }, [nameOrId], { limit }) {
    const { id, active_revision_id } = await client.find(nameOrId)
    const path = { deployment_id: id }
    const found = await readPages(limit, (query) =>
      client.api.GET('/v2/deployments/{deployment_id}/revisions', { params: { path, query } }),
    )
    const rows = found.map((revision) => [
      String(revision.number),
      revision.id === active_revision_id ? `${revision.status} (active)` : revision.status,
      sourceOf(revision),
      revision.created_by?.name ?? '-',
      revision.created_at,
      revision.id,
    ])
    return {
      outcome: 'done',
      json: { deployment_id: id, active_revision_id, revisions: found },
      text: formatTable([['NO', 'STATUS', 'SOURCE', 'BY', 'CREATED', 'ID'], ...rows]),
    }
  },
})

/** The image, or the commit with its branch. */
function sourceOf({ source_revision_config: { image_uri, repo_ref, repo_commit_sha } }: Revision): string {
  if (image_uri != null) return image_uri
  return [repo_commit_sha?.slice(0, 8), repo_ref].filter((part) => part != null).join(' ') || '-'
}

export const open = remoteCommand({
  examples: ['open my-agent', 'open my-agent --print'],
  details: `Prints the address; unless the deployment is public, as a signed link that ends in an hour. On a terminal it also opens
the browser: that of BROWSER, otherwise of the desktop.
Exit codes: 0 done, 1 the deployment has no address, 2 invalid arguments, 3 invalid credential, 7 server unreachable.`,
  define: (command) =>
    command.argument('<deployment>', 'by name or id').option('--print', 'only print the address', false),
  async work({ client, env, interactive, json }, [nameOrId], { print }) {
    const { id, name, why_not_live, access, ...deployment } = await client.find(nameOrId)
    if (deployment.url === null) throw new CommandError(`${name} has no address. ${why_not_live ?? ''}`.trim())
    const url = access === 'public' ? deployment.url : await linkTo(client, id)
    if (interactive && !json && !print) openBrowser(url, env)
    return { outcome: 'done', json: { deployment_id: id, name, url }, text: url }
  },
})

async function linkTo({ api }: Client, deployment_id: string): Promise<string> {
  const params = { path: { deployment_id } }
  const { data } = await api.POST('/v2/deployments/{deployment_id}/links', { params, body: {} })
  return data!.url
}

export const remove = remoteCommand({
  examples: ['delete my-agent', 'delete my-agent --yes'],
  define: (command) =>
    command
      .argument('<deployment>', 'by name or id')
      .option('-y, --yes', 'don’t ask')
      .option('--force', 'an admin gives up resources that can’t be torn down', false),
  async work({ client, confirm }, [nameOrId], { yes, force }) {
    const { id, name, url, serving } = await client.find(nameOrId)
    const state = serving && url !== null ? `, which serves at ${url}` : ''
    await confirm(`Delete the deployment ${name}${state}, with its revisions and secrets?`, yes)
    await client.api.DELETE('/v2/deployments/{deployment_id}', {
      params: { path: { deployment_id: id }, query: { force } },
    })
    return {
      outcome: 'done',
      json: { deployment_id: id, name },
      text: `Deleted ${name}. It is torn down now; its name is free.`,
    }
  },
})
