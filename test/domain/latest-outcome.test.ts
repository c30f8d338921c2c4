/** The filter by the latest revision's status agrees with the revision's row. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { countDeployments } from '../../src/domain/deployments/count.ts'
import { getDeployment } from '../../src/domain/deployments/read.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import type { Prisma } from '../../src/generated/prisma/client.ts'
import { RevisionStatus } from '../../src/generated/prisma/enums.ts'
import { gitDeployment, useDomain, useTenant } from '../support/domain.ts'
import { claimOne, workOff } from '../support/holder.ts'

const domain = useDomain()
const ctx = useTenant(domain)

/** The statuses whose filter finds this deployment, and its latest revision's status. */
async function found(id: string): Promise<{ by: string[]; status: string }> {
  const by: string[] = []
  for (const status of Object.values(RevisionStatus))
    if ((await countDeployments(ctx, { deployment_ids: [id], latest_revision_status: [status] })).count > 0)
      by.push(status)
  const { latestRevision } = await getDeployment(ctx, { path: { deployment_id: id } })
  return { by, status: latestRevision!.status }
}

test('a deployment is found by the status of its latest revision throughout its rollouts', async () => {
  const id = await gitDeployment(ctx)
  const path = { deployment_id: id }
  const seen: string[] = []
  const look = async () => {
    const { by, status } = await found(id)
    expect(by).toEqual([status])
    seen.push(status)
  }
  const latest = async () => (await getDeployment(ctx, { path })).latestRevisionId!
  await look()
  const claim = await claimOne(domain.plane, id)
  await workOff(domain.plane, claim)
  await look()
  const first = await latest()
  await updateDeployment(ctx, { path, body: { source_revision_config: { repo_ref: 'next' } } })
  await look()
  await interruptRevision(ctx, { path: { ...path, revision_id: await latest() } })
  await look()
  // a rollback to the first revision does not change the latest one
  await redeployRevision(ctx, { path: { ...path, revision_id: first } })
  await look()
  await redeployRevision(ctx, { path: { ...path, revision_id: await latest() } })
  await look()
  expect(seen[0]).toBe('CREATING')
  expect(seen.slice(1, 2)).toEqual(['DEPLOYED'])
  expect(seen[3]).toBe('INTERRUPTED')
})

test('a revision that fails when it is created is found as failed', async () => {
  const nowhere = { ...ctx, settings: { ...ctx.settings, runtime: 'none' as const } }
  expect(await found(await gitDeployment(nowhere))).toEqual({ by: ['CREATE_FAILED'], status: 'CREATE_FAILED' })
})

test('rows inserted by plain SQL are found', async () => {
  const id = await gitDeployment(ctx)
  const { latestRevision } = await getDeployment(ctx, { path: { deployment_id: id } })
  const made = await ctx.db.revision.create({
    data: {
      ...(latestRevision as object as Prisma.RevisionUncheckedCreateInput),
      ...{ id: randomUUID(), number: 2, status: 'BUILD_FAILED' as const },
    },
  })
  await ctx.db.deployment.update({ where: { id }, data: { latestRevisionId: made.id } })
  expect((await found(id)).by).toEqual(['BUILD_FAILED'])
  await ctx.db.deployment.update({ where: { id }, data: { latestRevisionId: null } })
  expect(await countDeployments(ctx, { deployment_ids: [id], latest_revision_status: ['BUILD_FAILED'] })).toMatchObject(
    { count: 0 },
  )
})
