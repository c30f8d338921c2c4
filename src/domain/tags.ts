/** The tags of a workspace and its deployments. Setting a deployment's tags replaces all of them and creates missing ones. */
import { z } from 'zod'
import { TAGS } from './deployments/read.ts'
import { requireVersion } from './errors/errors.ts'
import type { OffsetPage, Window } from './paging/paging.ts'
import { printableName } from './parsing/fields.ts'
import { parse, type RawInput } from './parsing/parse.ts'
import { type CountedSlice, type Reading, readById, readNewest, readOwn, selected } from './query-engine/reading.ts'
import { edit } from './repositories/deployment.ts'
import { type LockedDeployment, lockDeployment, refuseDeleted } from './repositories/locks.ts'
import { actorOf, requireRole, tenant } from './transaction/access.ts'
import type { ReadContext, RequestContext, Tx } from './transaction/context.ts'
import { type Written, writeVerb } from './transaction/once.ts'
import { resource } from './transaction/resource.ts'
import type { Tag } from './values/row-types.ts'
import { deploymentPath, offsetQuery } from './values/shapes.ts'

const tag = z.object({ key: printableName, value: printableName }).meta({ id: 'DeploymentTag' })

export const setTagsInput = z.object({
  path: deploymentPath,
  body: z.object({ tags: z.array(tag).max(50) }).meta({ id: 'DeploymentTagsUpdate' }),
})

type Pair = z.output<typeof tag>

/**
 * Duplicate pairs count once. Returns what `read` reads in the transaction, by default the ids. Role: deployer. Throws
 * NotFoundError, ConflictError.
 */
export const setDeploymentTags = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(setTagsInput, raw)
  return lockDeployment(ctx, path.deployment_id, async (tx, deployment) => {
    requireVersion(raw.ifMatch, 'Deployment', deployment.id, deployment)
    await putTags(ctx, tx, deployment, body.tags)
    return read(tx, { deploymentId: deployment.id, revisionId: null })
  })
})

async function putTags(ctx: ReadContext, tx: Tx, deployment: LockedDeployment, pairs: readonly Pair[]): Promise<void> {
  const { id } = deployment
  refuseDeleted(deployment)
  const tagIds = await findOrCreateTags(ctx, tx, pairs)
  const { count: removed } = await tx.sql.deploymentTag.deleteMany({
    where: { deploymentId: id, tagId: { notIn: tagIds } },
  })
  const { count: added } = await tx.sql.deploymentTag.createMany({
    data: tagIds.map((tagId) => ({ deploymentId: id, tagId })),
    skipDuplicates: true,
  })
  if (removed + added === 0) return
  edit(tx, deployment, { what: 'TAGGED', actor: actorOf(ctx.actor) })
  tx.emit({
    workspaceId: ctx.workspace.id,
    type: 'deployment.tagged',
    changed: ['tags'],
    deploymentId: id,
    actor: actorOf(ctx.actor),
  })
}

/** Returns the ids of the tags with these pairs, and creates missing tags. */
async function findOrCreateTags(ctx: ReadContext, tx: Tx, pairs: readonly Pair[]): Promise<string[]> {
  if (pairs.length === 0) return []
  const workspaceId = ctx.workspace.id
  // sorted, so that concurrent calls that create the same tags can't deadlock
  const sorted = [...pairs].sort((a, b) => compare(a.key, b.key) || compare(a.value, b.value))
  const data = sorted.map(({ key, value }) => ({ workspaceId, key, value }))
  const made = await tx.sql.tag.createManyAndReturn({ data, skipDuplicates: true, select: { id: true } })
  for (const { id } of made) tx.emit({ workspaceId, type: 'tag.created', subjectId: id, actor: actorOf(ctx.actor) })
  const found = await tx.sql.tag.findMany({ where: { workspaceId, OR: data }, select: { id: true } })
  return found.map(({ id }) => id)
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

const TAGGED = { select: { tags: { list: TAGS, select: { id: true, key: true, value: true, createdAt: true } } } }
const taggedReading = selected<{ tags: Tag[] }>('Deployment', TAGGED, true)

export const listDeploymentTagsInput = z.object({ path: deploymentPath })

/** Sorted by key and value. Role: viewer. Throws NotFoundError. */
export async function listDeploymentTags(ctx: ReadContext, raw: RawInput): Promise<Tag[]> {
  requireRole(ctx, 'viewer')
  const { path } = parse(listDeploymentTagsInput, raw)
  return (await readOwn(ctx, 'Deployment', path.deployment_id, taggedReading)).tags
}

/** For REST: the tags after the write. */
export async function readWrittenTags(tx: Tx, { deploymentId }: Written): Promise<Tag[]> {
  return (await readById<{ tags: Tag[] }>(tx, 'Deployment', deploymentId, TAGGED))!.tags
}

const tags = resource<Tag>({ name: 'Tag', table: (sql) => sql.tag, visible: tenant })

export const listInput = z.object({ query: z.object(offsetQuery) })

/** Role: viewer. */
export const listTags = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<Tag>> =>
  tags.page(ctx, () => parse(listInput, raw).query)

/** Newest first, with `counts` also the total. The filter `tag_value_ids` takes these ids. Role: viewer. */
export async function readTags<Row>(
  ctx: ReadContext,
  reading: Reading<Row>,
  window: Window,
  counts = false,
): Promise<CountedSlice<Row>> {
  requireRole(ctx, 'viewer')
  return readNewest(ctx, reading, 'Tag', window, counts)
}

/** Role: viewer. */
export async function countTags(ctx: ReadContext): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.tag.count({ where: tenant(ctx) })
}
