/** Reads all lines of a log that the filters find, page by page, for a download (docs/deployments.md#logs). */
import { z } from 'zod'
import { queryEnum, queryUuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { readRevision, requireDeployment } from '../revisions/read.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import { deploymentPath } from '../values/shapes.ts'
import { logKeyOf, readLogStates } from './follow.ts'
import { type Line, readLogOffset } from './lines.ts'
import { logQuery, MAX_LIMIT, type Page, parsePage, readPage } from './read.ts'

const FORMATS = ['text', 'ndjson'] as const

export const downloadInput = z.object({
  path: deploymentPath,
  query: logQuery.omit({ order: true, limit: true, offset: true, last: true, follow: true }).extend({
    revision_id: queryUuid.describe('Only the log of this revision.'),
    format: queryEnum(FORMATS).describe(
      '`text` (the default): time, level and message. `ndjson`: the JSON of each line as in a page of the log.',
    ),
  }),
})

export interface Download {
  format: (typeof FORMATS)[number]
  /** Oldest first, until the line that was the newest when the download began. One page is in memory at a time. */
  pages: AsyncGenerator<Line[]>
}

/** Role: viewer. Throws ValidationError, and NotFoundError for either id. */
export async function downloadLogs(ctx: ReadContext, raw: RawInput): Promise<Download> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(downloadInput, raw)
  const { format = 'text', revision_id: revisionId = null, ...filters } = query
  const page = parsePage({ ...filters, limit: MAX_LIMIT })
  const log = { deploymentId: path.deployment_id, revisionId, type: query.type }
  if (revisionId === null) await requireDeployment(ctx, log.deploymentId)
  else await readRevision(ctx, log.deploymentId, revisionId)
  const [state] = await readLogStates(ctx.db, [log])
  const key = { ...logKeyOf(log), deploymentId: log.deploymentId }
  return { format, pages: readAll(ctx, key, { ...page, before: state!.end + 1n }) }
}

async function* readAll(
  ctx: ReadContext,
  log: Parameters<typeof readPage>[1],
  page: Page,
): AsyncGenerator<Line[], void> {
  for (let after: bigint | undefined, more = true; more && !ctx.client?.gone.aborted; ) {
    const { lines, nextOffset, hasMore } = await readPage(ctx, log, { ...page, after })
    yield lines
    after = nextOffset === null ? after : readLogOffset(nextOffset)
    more = hasMore
  }
}
