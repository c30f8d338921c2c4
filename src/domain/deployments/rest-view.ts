/** Reads deployments for REST with prepared statements. */
import type { Prisma } from '../../generated/prisma/client.ts'
import { readAt } from '../cache-version/read-at.ts'
import { CONDITION_FIELDS } from '../deployment-status/condition.ts'
import { WHY_NOT_LIVE_FIELDS } from '../deployment-status/why-not-live.ts'
import { NotFoundError } from '../errors/errors.ts'
import { type Key, type Raw, RowSelection } from '../query-engine/rows.ts'
import { PlannedRead, versionOf } from '../query-engine/statement.ts'
import { setWithoutValues } from '../secrets/secret-set.ts'
import { seesValues } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import type { RevisionStatus } from '../values/row-types.ts'
import type { DeploymentFilter } from './filter.ts'
import { rememberCursor } from './offset-cursor-cache.ts'
import { offsetPageRows, oneRow } from './row-source.ts'

/** The fields that REST shows, or needs to derive values. */
export const VIEW_FIELDS = {
  ...CONDITION_FIELDS,
  ...WHY_NOT_LIVE_FIELDS,
  id: true,
  workspaceId: true,
  name: true,
  source: true,
  integrationId: true,
  repoUrl: true,
  deploymentType: true,
  buildOnPush: true,
  customUrl: true,
  listenerId: true,
  k8sNamespace: true,
  installCommand: true,
  buildCommand: true,
  secretReferences: true,
  imageVersion: true,
  createdAt: true,
  updatedAt: true,
  editVersion: true,
  provisionedAt: true,
  idle: true,
  url: true,
  latestRevisionId: true,
  secretSet: true,
  latestRevision: true,
} as const satisfies Prisma.DeploymentSelect

export type DeploymentView = Prisma.DeploymentGetPayload<{ select: typeof VIEW_FIELDS }>

/** `newestStatus`: the status of the newest rollout, of a new revision or a redeploy. */
export type WaitingView = DeploymentView & { newestStatus: RevisionStatus | null }

interface ViewReader {
  selection: PlannedRead
  view(row: Raw): DeploymentView
  /** the place of the newest rollout in a row; null: not selected */
  newest: Key | null
}

/** `values`: reads encrypted secrets; otherwise only their names. */
function createReader(values: boolean, waits: boolean): ViewReader {
  const { secretSet: _, ...rest } = VIEW_FIELDS
  const rows = new RowSelection('Deployment')
  const read = rows.root.reader(values ? VIEW_FIELDS : { ...rest, secretSet: { select: { id: true, names: true } } })
  const newest = waits ? newestRollout(rows) : null
  const selection = new PlannedRead(rows)
  const view = (row: Raw) => {
    const found = read(row) as unknown as DeploymentView
    if (!values && found.secretSet) found.secretSet = setWithoutValues(found.secretSet.id, found.secretSet.names)
    return found
  }
  return { selection, view, newest }
}

function newestRollout(rows: RowSelection): Key {
  const { key, rows: revisions } = rows.root.many(
    'Revision',
    (own, above) => [`${own}.deployment_id = ${above}.id ORDER BY ${own}.rollout DESC LIMIT 1`],
    (own) => `${own}.rollout`,
  )
  revisions.root.column('status')
  return key
}

const readers = new Map<string, ViewReader>()
function readerFor({ actor }: RequestContext, waits = false): ViewReader {
  const values = seesValues(actor)
  const key = `${values} ${waits}`
  let reading = readers.get(key)
  if (!reading) {
    reading = createReader(values, waits)
    readers.set(key, reading)
  }
  return reading
}

/** Throws NotFoundError. */
export async function readView(ctx: RequestContext, id: string): Promise<DeploymentView> {
  const reading = readerFor(ctx)
  const row = await readRow(ctx, reading, id)
  return readAt([reading.view(row)], versionOf([row]))[0]!
}

export async function readWaitingView(ctx: RequestContext, id: string): Promise<WaitingView> {
  const reading = readerFor(ctx, true)
  const row = await readRow(ctx, reading, id)
  const [newest] = (row[reading.newest!] ?? []) as [RevisionStatus][]
  return { ...reading.view(row), newestStatus: newest?.[0] ?? null }
}

async function readRow(ctx: RequestContext, { selection }: ViewReader, id: string): Promise<Raw> {
  const [found] = await selection.read(ctx, oneRow(ctx, id))
  if (!found) throw new NotFoundError('Deployment', id)
  return found
}

/** A page by offset, newest first. */
export async function readViews(
  ctx: RequestContext,
  filter: DeploymentFilter,
  page: { limit: number; offset: number },
): Promise<DeploymentView[]> {
  const { selection, view } = readerFor(ctx)
  const rows = await selection.read(ctx, offsetPageRows(ctx, filter, page))
  const views = rows.map(view)
  const version = versionOf(rows)
  const last = views.at(-1)
  if (last)
    rememberCursor(ctx, filter, { id: last.id, createdAt: last.createdAt, offset: page.offset + views.length }, version)
  return readAt(views, version)
}
