/** `revisions`: a deployment's revisions. */
import type { Revision } from '../../../client/index.ts'
import { formatTable } from '../../terminal/command.ts'
import { remoteCommand } from '../frame/call.ts'
import { addLimitOption, readPages } from '../frame/pages.ts'

export const revisions = remoteCommand({
  examples: ['revisions my-agent', 'revisions my-agent --limit 5 --json'],
  define: (command) => addLimitOption(command.argument('<name>', 'the deployment, by name or id')),
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
