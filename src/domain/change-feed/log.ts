/** Reads the change feed after a cursor, for the relay and for streams. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { NotFoundError, ValidationError } from '../errors/errors.ts'
import { decodeCursor, encodeCursor } from '../paging/paging.ts'
import { queryText, queryUuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { requireRole } from '../transaction/access.ts'
import type { Db, ReadContext } from '../transaction/context.ts'
import { DEPLOYMENTS_PER_SEQUENCE } from './announce.ts'

export interface DeploymentChanges {
  workspaceId: string
  sequence: bigint // the last one in this part
  deploymentIds: readonly string[]
  readAt: Date
}

/** Limits the read to one deployment. Absent: all. */
export interface ChangeScope {
  deploymentId?: string
}

/**
 * Reads the entries after `after` with one statement, oldest first. Returns at most `limit` parts of some hundred
 * deployments; each part has all deployments of its sequence numbers. A deployment has one entry, at its last change.
 */
export async function readDeploymentChanges(
  db: Db,
  workspaceId: string,
  after: bigint,
  limit: number,
  { deploymentId }: ChangeScope = {},
): Promise<DeploymentChanges[]> {
  // one more sequence number than fills all parts: the last one may be incomplete and is left out
  const most = (limit + 1) * DEPLOYMENTS_PER_SEQUENCE
  const own = deploymentId === undefined ? Prisma.empty : Prisma.sql`AND deployment_id = ${deploymentId}::uuid`
  const rows = await db.$queryRaw<{ id: string; sequence: bigint }[]>`
    SELECT deployment_id::text AS id, sequence FROM deployment_changes
    WHERE workspace_id = ${workspaceId}::uuid AND sequence > ${after} ${own} ORDER BY sequence LIMIT ${most}`
  const whole = rows.length < most ? rows : rows.filter(({ sequence }) => sequence < rows.at(-1)!.sequence)
  return partsOf(workspaceId, whole).slice(0, limit)
}

/** Merges sequence numbers, so a client that was away for long gets few large parts. */
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

/** The last sequence number of each workspace's feed; 0 if it is empty. One statement. */
export async function lastSequences(db: Db, workspaceIds: readonly string[]): Promise<Map<string, bigint>> {
  const rows = await db.$queryRaw<{ id: string; sequence: bigint }[]>`
    SELECT w.id::text, ${LAST} AS sequence FROM unnest(${workspaceIds}::uuid[]) AS w(id)`
  return new Map(rows.map(({ id, sequence }) => [id, sequence]))
}

/** The feed may lack entries up to this sequence number. One statement. */
export async function removedUntil(db: Db, workspaceId: string): Promise<bigint> {
  const [row] = await db.$queryRaw<
    { removed: bigint }[]
  >`SELECT ${REMOVED} AS removed FROM (SELECT ${workspaceId}::uuid AS id) AS w`
  return row?.removed ?? 0n
}

const REMOVED = Prisma.sql`
  coalesce((SELECT removed FROM deployment_change_floors f WHERE f.workspace_id = w.id), 0)::bigint`
const LAST = Prisma.sql`
  greatest(${REMOVED}, coalesce(
    (SELECT c.sequence FROM deployment_changes c WHERE c.workspace_id = w.id ORDER BY c.sequence DESC LIMIT 1), 0))::bigint`

export interface ChangesSnapshot {
  sequence: bigint
  /** entries up to this sequence number may be missing */
  removed: bigint
  /** true if no deployment was requested */
  there: boolean
}

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

/** the constant `changes`, which rejects cursors of other logs · workspace · sequence number */
const POSITION = z.tuple([z.literal('changes'), z.string(), z.string().regex(/^\d{1,18}$/)])

export function changeCursor({ workspaceId, sequence }: Pick<DeploymentChanges, 'workspaceId' | 'sequence'>): string {
  return encodeCursor(['changes', workspaceId, String(sequence)])
}

/** Throws ValidationError (`cursor_invalid`) if malformed, of another workspace or log, or after `end`. */
export function readChangeCursor(ctx: ReadContext, cursor: string, end: bigint): bigint {
  const [, workspaceId, text] = decodeCursor(cursor, POSITION, ['query', 'after'])
  const sequence = BigInt(text)
  if (workspaceId !== ctx.workspace.id || sequence > end)
    throw refused(
      'cursor_invalid',
      'The cursor does not belong to this feed. Begin without a cursor and load the deployments again.',
    )
  return sequence
}

/** Throws ValidationError (`cursor_expired`) if entries after the cursor were removed with their deployments. */
export function refuseMissing(sequence: bigint, removed: bigint): void {
  if (sequence < removed)
    throw refused('cursor_expired', 'The cursor is too old. Begin without a cursor and load the deployments again.')
}

function refused(type: string, msg: string): ValidationError {
  return new ValidationError([{ loc: ['query', 'after'], msg, type }])
}

export const changesInput = z.object({
  query: z.object({
    after: queryText.describe('The `cursor` of an answer, or of a message of a stream.'),
    deployment_id: queryUuid.describe('Only of this deployment.'),
  }),
})

export interface DeploymentsChange {
  cursor: string
  /** empty: nothing changed, or the call had no `after` */
  deploymentIds: readonly string[]
}

/** Parts per answer, of some hundred deployments each. A client that was away for longer calls again. */
const MAX_PARTS = 10

/** Role: viewer. Throws ValidationError, also for an expired cursor, and NotFoundError. At most two statements. */
export async function listDeploymentChanges(ctx: ReadContext, raw: RawInput): Promise<DeploymentsChange> {
  requireRole(ctx, 'viewer')
  const { after: cursor, deployment_id: deploymentId } = parse(changesInput, raw).query
  const workspaceId = ctx.workspace.id
  const { sequence: end, removed, there } = await readChangesSnapshot(ctx.db, workspaceId, deploymentId)
  if (!there) throw new NotFoundError('Deployment', deploymentId!)
  if (cursor === undefined) return { cursor: changeCursor({ workspaceId, sequence: end }), deploymentIds: [] }
  const after = readChangeCursor(ctx, cursor, end)
  refuseMissing(after, removed)
  const scope = deploymentId === undefined ? {} : { deploymentId }
  const parts = await readDeploymentChanges(ctx.db, workspaceId, after, MAX_PARTS, scope)
  // the parts were read after `end`, so they contain everything up to it
  const sequence = parts.at(-1)?.sequence ?? end
  return { cursor: changeCursor({ workspaceId, sequence }), deploymentIds: parts.flatMap((part) => part.deploymentIds) }
}
