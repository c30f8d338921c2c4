/** Follows a log: which lines, from where, and when it is complete. api/realtime sends the lines (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import type { LogType } from '../../generated/prisma/enums.ts'
import { ValidationError } from '../errors/errors.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { selected } from '../query-engine/reading.ts'
import { readAnyRevision, readRevision, requireDeployment } from '../revisions/read.ts'
import { requireRole } from '../transaction/access.ts'
import type { Db, ReadContext } from '../transaction/context.ts'
import { BUILD_AHEAD } from '../values/lifecycle.ts'
import type { LogFilter } from './filter.ts'
import type { LogKey } from './lines.ts'
import { type Beginning, parseFollow, readDeploymentLogsInput, readLogsInput, readLogsOfRevisionInput } from './read.ts'
import { searchLines } from './search.ts'

export interface LogName {
  deploymentId: string
  /** null: all revisions */
  revisionId: string | null
  type: LogType
}

export interface FollowedLog extends LogName {
  filter: LogFilter
  begin: Beginning
}

/** `resume`: the cursor of the last line that a returning client has. */
export interface FollowCall {
  raw: RawInput
  resume?: string
}

/** Follows a revision's log. Role: viewer. Throws ValidationError, and NotFoundError for either id. */
export async function followLogs(ctx: ReadContext, { raw, resume }: FollowCall): Promise<FollowedLog> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readLogsInput, raw)
  const { filter, begin } = parseFollow(query, resume)
  await readRevision(ctx, path.deployment_id, path.revision_id)
  return { deploymentId: path.deployment_id, revisionId: path.revision_id, type: query.type, filter, begin }
}

const DEPLOYMENT_ID = selected<{ deploymentId: string }>('Revision', { select: { deploymentId: true } }, true)

/** For GraphQL, which names a revision without its deployment. */
export async function followLogsOfRevision(ctx: ReadContext, { raw, resume }: FollowCall): Promise<FollowedLog> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readLogsOfRevisionInput, raw)
  const { filter, begin } = parseFollow(query, resume)
  const { deploymentId } = await readAnyRevision(ctx, { path }, DEPLOYMENT_ID)
  return { deploymentId, revisionId: path.revision_id, type: query.type, filter, begin }
}

/** Follows a deployment's log across its revisions. Role: viewer. Throws ValidationError and NotFoundError. */
export async function followDeploymentLogs(ctx: ReadContext, { raw, resume }: FollowCall): Promise<FollowedLog> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(readDeploymentLogsInput, raw)
  const { filter, begin } = parseFollow(query, resume)
  await requireDeployment(ctx, path.deployment_id)
  return { deploymentId: path.deployment_id, revisionId: null, type: query.type, filter, begin }
}

export const logKeyOf = ({ revisionId, deploymentId, type }: LogName): LogKey =>
  revisionId === null ? { by: 'deploymentId', id: deploymentId, type } : { by: 'revisionId', id: revisionId, type }

/** The id after which lines begin; `end`: the newest line's id. Throws ValidationError for an unknown cursor. */
export async function findBeginning(ctx: ReadContext, log: FollowedLog, end: bigint): Promise<bigint> {
  const { last, after } = log.begin
  if (after !== undefined && after > end) await refuseAhead(ctx.db, after)
  if (last === undefined) return after ?? 0n
  if (last === 0) return end
  const key = { ...logKeyOf(log), deploymentId: log.deploymentId }
  const { lines, stoppedAt } = await searchLines(ctx, key, log.filter, { order: 'desc', take: last, before: end + 1n })
  return stoppedAt !== null ? stoppedAt - 1n : lines.length < last ? 0n : lines.at(-1)!.id - 1n
}

export interface LogState {
  /** id of the deployment's newest line of this type, even if removed; 0: none */
  end: bigint
  /** no line follows `end`: the deployment is gone, or a revision's build is over and no worker works on it */
  over: boolean
}

/** In the order of `logs`, from one snapshot. Checks no tenant: pass only logs that the caller may read. */
export function readLogStates(db: Db, logs: readonly LogName[]): Promise<LogState[]> {
  const deployments = logs.map(({ deploymentId }) => deploymentId)
  const revisions = logs.map(({ revisionId }) => revisionId)
  const types = logs.map(({ type }) => type as string)
  // a range, because for equalities Postgres may walk through the lines of all logs
  return db.$queryRaw<LogState[]>`
    SELECT greatest((
             SELECT l.id FROM log_lines l
             WHERE (l.deployment_id, l.type, l.id) > (f.deployment, f.type, 0) AND (l.deployment_id, l.type, l.id) < (f.deployment, f.type, ${MAX_LINE_ID})
             ORDER BY l.deployment_id DESC, l.type DESC, l.id DESC LIMIT 1
           ), (SELECT max(line_id) FROM log_removals WHERE deployment_id = f.deployment AND type = f.type), 0) AS "end",
           d.id IS NULL OR d.torn_down_at IS NOT NULL OR (f.revision IS NOT NULL AND f.type = 'build' AND ${BUILD_OVER}) AS over
    FROM unnest(${deployments}::uuid[], ${revisions}::uuid[], ${types}::text[]::"LogType"[])
      WITH ORDINALITY AS f(deployment, revision, type, position)
    LEFT JOIN deployments d ON d.id = f.deployment
    LEFT JOIN revisions r ON r.id = f.revision
    ORDER BY f.position`
}

const MAX_LINE_ID = 2n ** 63n - 1n

/** A holder whose step was withdrawn still prints until it confirms that it stopped. */
const BUILD_OVER = Prisma.sql`
  NOT coalesce(r.status::text = ANY (${[...BUILD_AHEAD]}) OR EXISTS (
    SELECT 1 FROM steps s WHERE s.id = d.busy_step_id AND s.revision_id = r.id AND s.kind = 'BUILD' AND d.lease_expires_at > now()
  ), false)`

/** A cursor after the newest line comes from another or a restored database. Following it would skip lines. */
async function refuseAhead(db: Db, after: bigint): Promise<void> {
  const [row] = await db.$queryRaw<{ ahead: boolean }[]>`SELECT last_value < ${after} AS ahead FROM log_lines_id_seq`
  const msg = 'This cursor is ahead of the log: follow it without one, or with one that the log gave you.'
  if (row?.ahead) throw new ValidationError([{ loc: ['query', 'offset'], msg, type: 'cursor_invalid' }])
}
