/** Images that a builder pushes after its deployment was torn down. */
import { expect, test } from 'vitest'
import { removeImagesBut } from '../../src/app/image-store.ts'
import { accessForBuilder } from '../../src/domain/builders/control-plane.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { repositoryOf } from '../../src/domain/ports/registry.ts'
import { removeImages } from '../../src/domain/rollouts/image-removals.ts'
import { about, builderOf, takeBuilds } from '../support/builders.ts'
import { gitBody, useDomain, useTenant } from '../support/domain.ts'
import { claimOne, succeed } from '../support/holder.ts'
import { standInRegistry } from '../support/registry.ts'

const domain = useDomain({ core: () => ({ registry }) })
const ctx = useTenant(domain)

const { signal } = new AbortController()
/** images per repository, by tag */
const stored = new Map<string, Map<string, string>>()
let away = false
const push = (repository: string, tag: string) =>
  stored.set(repository, (stored.get(repository) ?? new Map()).set(tag, `sha256:${tag}`))
const registry = {
  ...standInRegistry(),
  async tags(repository: string) {
    if (away) throw new Error('The registry answered a list of tags with 503')
    return [...(stored.get(repository)?.keys() ?? [])]
  },
  digestOf: async (repository: string, tag: string) => stored.get(repository)?.get(tag) ?? null,
  async remove(repository: string, digest: string) {
    return stored.get(repository)?.delete(digest.slice('sha256:'.length)) ?? false
  },
}

/** One round of removals, as a server runs it. */
const round = () => removeImages(domain.core, (name, end) => removeImagesBut(registry, name, [], end), signal)
const queued = (id: string) => domain.core.db.imageRemoval.findUnique({ where: { deploymentId: id } })
const due = (id: string) =>
  domain.core.db.imageRemoval.update({ where: { deploymentId: id }, data: { notBefore: new Date(0) } })

/** A deployment that is torn down while a builder pushes. */
async function goneWhilePushing() {
  const builder = await builderOf(ctx)
  await takeBuilds(builder)
  const { deploymentId: id } = await createDeployment(ctx, { body: await gitBody(ctx) })
  const holder = await claimOne(domain.plane, id)
  const { claimId, token } = holder
  const build = (await succeed(domain.plane, holder, holder.step!)).assignment.step!
  const left = { outcome: 'failed', reason: 'NO_BUILDER', message: 'none', elsewhere: true } as const
  await domain.plane.complete({ claimId, token, stepId: build.id, ...left })
  const [claim] = await takeBuilds(builder)
  await accessForBuilder(builder, about(claim!))
  const { deadlineAt } = await domain.core.db.step.findUniqueOrThrow({ where: { id: build.id } })
  await deleteDeployment(ctx, { path: { deployment_id: id } })
  const [answer] = await domain.plane.heartbeat({ leaseSeconds: 60, claims: [{ claimId, token }] })
  await succeed(domain.plane, holder, answer!.assignment!.step!)
  expect((await domain.core.db.deployment.findUniqueOrThrow({ where: { id } })).tornDownAt).not.toBeNull()
  return { id, repository: repositoryOf({ id, workspaceId: ctx.workspace.id }), deadlineAt: deadlineAt! }
}

test('an image pushed after the teardown is removed when the last push token has expired', async () => {
  const { id, repository, deadlineAt } = await goneWhilePushing()
  const later = (await queued(id))!.notBefore
  expect(later.getTime()).toBeGreaterThanOrEqual(deadlineAt.getTime())
  push(repository, 'build-late')
  push(`${repository}/cache`, 'layer')
  push(repository, 'of-somebody-else')
  await round()
  expect(stored.get(repository)?.size).toBe(2)
  await due(id)
  await round()
  expect([...stored.get(repository)!.keys()]).toEqual(['of-somebody-else'])
  expect(stored.get(`${repository}/cache`)?.size).toBe(0)
  expect(await queued(id)).toBeNull()
})

test('a removal is retried if the registry is unavailable or the server dies', async () => {
  const { id, repository } = await goneWhilePushing()
  push(repository, 'build-late')
  away = true
  await due(id)
  await round()
  away = false
  const again = (await queued(id))!.notBefore
  expect(again.getTime()).toBeGreaterThan(Date.now() + 60_000)
  await round()
  expect(stored.get(repository)?.size).toBe(1)
  // the server died after the registry answered, before it stored that
  await due(id)
  const killed = removeImages(domain.core, async () => Promise.reject(new Error('killed')), signal)
  await killed
  await due(id)
  await round()
  expect([stored.get(repository)?.size, await queued(id)]).toEqual([0, null])
})

test('a deployment without a build leaves no images to remove', async () => {
  const { deploymentId: id } = await createDeployment(ctx, { body: await gitBody(ctx) })
  await deleteDeployment(ctx, { path: { deployment_id: id } })
  expect((await domain.core.db.deployment.findUniqueOrThrow({ where: { id } })).tornDownAt).not.toBeNull()
  expect(await queued(id)).toBeNull()
})
