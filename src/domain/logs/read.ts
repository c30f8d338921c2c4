/** Reads pages of log lines (docs/deployments.md#logs). A log has the lines of all attempts. */

import { parse, type RawInput } from '../parsing/parse.ts'
import { readRevision, requireDeployment } from '../revisions/read.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { type Line, type LogKey, logOffset, readLines } from './lines.ts'
import { type Page, parsePage, readDeploymentLogsInput, readLogsInput } from './query.ts'

export interface LogPage {
  lines: Line[]
  /**
   * Where the next page starts. Oldest first: after this page's last line; null for an empty page, so a polling client
   * repeats its last offset. Newest first: null at the start of the log.
   */
  nextOffset: string | null
  /** whether more lines exist in this direction now; with `last`, before this page */
  hasMore: boolean
}

/** Role: viewer. Throws NotFoundError for either id. */
export async function readLogs(ctx: RequestContext, raw: RawInput): Promise<LogPage> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readLogsInput, raw)
  const page = parsePage(query)
  await readRevision(ctx, path.deployment_id, path.revision_id)
  return readPage(ctx, { by: 'revisionId', id: path.revision_id, type: query.type }, page)
}

/** The lines of all revisions, in order. Role: viewer. Throws NotFoundError. */
export async function readDeploymentLogs(ctx: RequestContext, raw: RawInput): Promise<LogPage> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readDeploymentLogsInput, raw)
  const page = parsePage(query)
  await requireDeployment(ctx, path.deployment_id)
  return readPage(ctx, { by: 'deploymentId', id: path.deployment_id, type: query.type }, page)
}

async function readPage(ctx: RequestContext, log: LogKey, { filter, reversed, ...window }: Page): Promise<LogPage> {
  const { take, order } = window
  const found = await readLines(ctx.db, log, filter, { ...window, take: take + 1 })
  const hasMore = found.length > take
  const lines = found.slice(0, take)
  if (reversed) lines.reverse()
  const last = lines.at(-1)
  return { lines, nextOffset: last && (order === 'asc' || reversed || hasMore) ? logOffset(last) : null, hasMore }
}
