/** Reads the change feed after a cursor, for the relay and for streams. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { ValidationError } from '../errors/errors.ts'
import { decodeCursor, encodeCursor } from '../paging/paging.ts'
import type { Db, RequestContext } from '../transaction/context.ts'
import { DEPLOYMENTS_PER_SEQUENCE } from './announce.ts'

/** Deployments that show something new, each once. */
export interface DeploymentChanges {
  workspaceId: string
  /** the last place of theirs */
  sequence: bigint
  deploymentIds: readonly string[]
  readAt: Date
}

/** What of a log is read: of one deployment; absent: all. */
export interface ChangeScope {
  deploymentId?: string
}

/**
 * What stands behind `after`, oldest first: at most `limit` parts, each of whole places and some hundred deployments. One statement.
 * A deployment that has changed again stands further on, and nowhere else.
 */
export async function readDeploymentChanges(
  db: Db,
  workspaceId: string,
  after: bigint,
  limit: number,
  { deploymentId }: ChangeScope = {},
): Promise<DeploymentChanges[]> {
  // a place more than fills all parts: the last one, which may be cut off, is left out
  const most = (limit + 1) * DEPLOYMENTS_PER_SEQUENCE
  const own = deploymentId === undefined ? Prisma.empty : Prisma.sql`AND deployment_id = ${deploymentId}::uuid`
  const rows = await db.$queryRaw<{ id: string; sequence: bigint }[]>`
    SELECT deployment_id::text AS id, sequence FROM deployment_changes
    WHERE workspace_id = ${workspaceId}::uuid AND sequence > ${after} ${own} ORDER BY sequence LIMIT ${most}`
  const whole = rows.length < most ? rows : rows.filter(({ sequence }) => sequence < rows.at(-1)!.sequence)
  return partsOf(workspaceId, whole).slice(0, limit)
}

/** Pure. Who was away for long gets few large parts, not many small ones. */
function partsOf(workspaceId: string, rows: readonly { id: string; sequence: bigint }[]): DeploymentChanges[] {
  const places = new Map<bigint, string[]>()
  for (const { id, sequence } of rows) {
    const ids = places.get(sequence)
    if (ids) ids.push(id)
    else places.set(sequence, [id])
  }
  const readAt = new Date()
  const parts: (Omit<DeploymentChanges, 'deploymentIds'> & { deploymentIds: string[] })[] = []
  for (const [sequence, ids] of places) {
    const last = parts.at(-1)
    if (last && last.deploymentIds.length + ids.length <= DEPLOYMENTS_PER_SEQUENCE) {
      last.deploymentIds.push(...ids)
      last.sequence = sequence
    } else parts.push({ workspaceId, sequence, deploymentIds: ids, readAt })
  }
  return parts
}

/** The last place of each workspace's log; 0 where there is none. One statement. */
export async function lastSequences(db: Db, workspaceIds: readonly string[]): Promise<Map<string, bigint>> {
  const rows = await db.$queryRaw<{ id: string; sequence: bigint }[]>`
    SELECT w.id::text, ${LAST} AS sequence FROM unnest(${workspaceIds}::uuid[]) AS w(id)`
  return new Map(rows.map(({ id, sequence }) => [id, sequence]))
}

/** Up to this place entries of the log may be missing. One statement. */
export async function removedUntil(db: Db, workspaceId: string): Promise<bigint> {
  const [row] = await db.$queryRaw<
    { removed: bigint }[]
  >`SELECT ${REMOVED} AS removed FROM (SELECT ${workspaceId}::uuid AS id) AS w`
  return row?.removed ?? 0n
}

/** Of the workspace `w` in a statement. */
const REMOVED = Prisma.sql`
  coalesce((SELECT removed FROM deployment_change_floors f WHERE f.workspace_id = w.id), 0)::bigint`
const LAST = Prisma.sql`
  greatest(${REMOVED}, coalesce(
    (SELECT c.sequence FROM deployment_changes c WHERE c.workspace_id = w.id ORDER BY c.sequence DESC LIMIT 1), 0))::bigint`

/** What a stream begins with. */
export interface ChangesSnapshot {
  /** the last place of the workspace's log */
  sequence: bigint
  /** up to this place entries may be missing */
  removed: bigint
  /** whether the deployment that was asked for is there; true where none was */
  there: boolean
}

/** One statement. */
export async function readChangesSnapshot(
  db: Db,
  workspaceId: string,
  deploymentId: string | undefined,
): Promise<ChangesSnapshot> {
  const there =
    deploymentId === undefined
      ? Prisma.sql`true`
      : Prisma.sql`EXISTS (SELECT FROM deployments d WHERE d.id = ${deploymentId}::uuid AND d.workspace_id = w.id AND d.torn_down_at IS NULL)`
  const [row] = await db.$queryRaw<ChangesSnapshot[]>`
    SELECT ${REMOVED} AS removed, ${there} AS there, ${LAST} AS sequence FROM (SELECT ${workspaceId}::uuid AS id) AS w`
  return row!
}

/** `changes`: so no cursor of another log is taken for one; workspace; place */
const POSITION = z.tuple([z.literal('changes'), z.string(), z.string().regex(/^\d{1,18}$/)])

export function changeCursor({ workspaceId, sequence }: Pick<DeploymentChanges, 'workspaceId' | 'sequence'>): string {
  return encodeCursor(['changes', workspaceId, String(sequence)])
}

/** The place that a cursor stands for. Throws ValidationError (`cursor_invalid`) for what is malformed, of another workspace or log, or ahead of `end`. */
export function readChangeCursor(ctx: RequestContext, cursor: string, end: bigint): bigint {
  const [, workspaceId, text] = decodeCursor(cursor, POSITION, ['query', 'after'])
  const sequence = BigInt(text)
  if (workspaceId !== ctx.workspace.id || sequence > end)
    throw refused('cursor_invalid', 'Not a cursor of this log: begin without one, and read again what you show.')
  return sequence
}

/** Entries behind a cursor at `sequence` were removed with their deployments. Throws ValidationError (`cursor_expired`). */
export function refuseMissing(sequence: bigint, removed: bigint): void {
  if (sequence < removed)
    throw refused('cursor_expired', 'This cursor is too old: begin without one, and read again what you show.')
}

function refused(type: string, msg: string): ValidationError {
  return new ValidationError([{ loc: ['query', 'after'], msg, type }])
}
