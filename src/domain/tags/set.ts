/** Puts tags on a deployment: the set that is given replaces the one that was there. Tags are made as they are needed. */
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { lockDeployment, refuseDeleted } from '../deployments/lock.ts'
import { deploymentPath } from '../deployments/schemas.ts'
import { printableName } from '../fields.ts'
import { parse, type RawInput } from '../parse.ts'
import type { ReadBack, Written } from '../written.ts'

const tag = z.object({ key: printableName, value: printableName }).meta({ id: 'DeploymentTag' })

export const setTagsInput = z.object({ path: deploymentPath, body: z.object({ tags: z.array(tag).max(50) }) })

type Pair = z.output<typeof tag>

/**
 * Answers what `read` reads in its transaction. A pair that is given twice counts once. Role: deployer. Throws
 * NotFoundError, ConflictError.
 */
export async function setDeploymentTags<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<Written, T>): Promise<T> {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(setTagsInput, raw)
  return transaction(
    ctx,
    async (tx) => {
      await putTags(ctx, tx, path.deployment_id, body.tags)
      return read(tx.sql, { deploymentId: path.deployment_id, revisionId: null })
    },
    { deployment: path.deployment_id },
  )
}

async function putTags(ctx: RequestContext, tx: Tx, id: string, pairs: readonly Pair[]): Promise<void> {
  refuseDeleted(await lockDeployment(tx, ctx, id))
  const wanted = await adoptTags(ctx, tx, pairs)
  const { count: removed } = await tx.sql.deploymentTag.deleteMany({
    where: { deploymentId: id, tagId: { notIn: wanted } },
  })
  const { count: added } = await tx.sql.deploymentTag.createMany({
    data: wanted.map((tagId) => ({ deploymentId: id, tagId })),
    skipDuplicates: true,
  })
  if (removed + added === 0) return
  await tx.sql.deployment.update({ where: { id }, data: { updatedAt: tx.now() } })
  tx.emit({ workspaceId: ctx.workspace.id, type: 'deployment.tagged', deploymentId: id, actor: ctx.actor.subject })
}

/** The ids of the workspace's tags with these pairs; those that are missing are made. */
async function adoptTags(ctx: RequestContext, tx: Tx, pairs: readonly Pair[]): Promise<string[]> {
  if (pairs.length === 0) return []
  const workspaceId = ctx.workspace.id
  // in one order everywhere, so that two calls that make the same tags wait for each other instead of locking up
  const sorted = [...pairs].sort((a, b) => compare(a.key, b.key) || compare(a.value, b.value))
  const data = sorted.map(({ key, value }) => ({ workspaceId, key, value }))
  const made = await tx.sql.tag.createManyAndReturn({ data, skipDuplicates: true, select: { id: true } })
  for (const { id } of made) tx.emit({ workspaceId, type: 'tag.created', subjectId: id, actor: ctx.actor.subject })
  const found = await tx.sql.tag.findMany({ where: { workspaceId, OR: data }, select: { id: true } })
  return found.map(({ id }) => id)
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
