// What a change of a deployment starts from (docs/deployments.md#deployments): other secrets alone change no code and undo no rollback.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { createRevision, updateDeployment } from '../../src/domain/deployments/update.ts'
import type { Claim, Step } from '../../src/domain/protocol/protocol.ts'
import { redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { openSecrets } from '../../src/domain/secrets/secret-set.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { gitBody, gitDeployment, type TestDomain, testDomain } from '../support/domain.ts'
import { claimOne, settle, succeed, workOff } from '../support/holder.ts'

let domain: TestDomain
let ctx: RequestContext
beforeAll(async () => {
  domain = await testDomain()
  ctx = await domain.tenant()
})
afterAll(() => domain.close())

const SECRETS = [{ name: 'TOKEN', value: 'rotated' }]
const patch = async (id: string, body: object) =>
  (await updateDeployment(ctx, { path: { deployment_id: id }, body })).revisionId!
const rotate = (id: string) => patch(id, { secrets: SECRETS })
const toRef = (id: string, repo_ref: string) => patch(id, { source_revision_config: { repo_ref } })
const redeploy = (deployment_id: string, revision_id: string) =>
  redeployRevision(ctx, { path: { deployment_id, revision_id } })
const revision = (id: string) =>
  domain.core.db.revision.findUniqueOrThrow({ where: { id }, include: { secretSet: true } })
const row = (id: string) => domain.core.db.deployment.findUniqueOrThrow({ where: { id } })

/** What a revision is made of. */
async function made(id: string) {
  const { repoRef, graphConfigPath, repoCommitSha, artifact, installCommand } = await revision(id)
  return { repoRef, graphConfigPath, repoCommitSha, artifact, installCommand }
}

/** Claims it, works its steps off, and lets go. Returns their kinds. */
async function work(id: string): Promise<string[]> {
  const claim = await claimOne(domain.plane, id)
  const kinds = await workOff(domain.plane, claim)
  await domain.plane.release(claim)
  return kinds
}

/** A deployment of main (A), then of next (B), both deployed, B active. */
async function twoDeployed() {
  const id = await gitDeployment(ctx)
  await settle(domain.plane)
  const a = (await row(id)).latestRevisionId!
  const b = await toRef(id, 'next')
  await settle(domain.plane)
  return { id, a, b }
}

test('after a rollback new secrets stay with what was rolled back to: its source and build, without a build', async () => {
  const { id, a, b } = await twoDeployed()
  await redeploy(id, a)
  await settle(domain.plane)
  const c = await rotate(id)
  expect(await made(c)).toEqual({ ...(await made(a)), repoRef: 'main' })
  expect(openSecrets(ctx.keyring, (await revision(c)).secretSet)).toEqual(SECRETS)
  expect(await work(id)).toEqual(['DEPLOY'])
  expect(await row(id)).toMatchObject({ activeRevisionId: c, latestRevisionId: c })
  expect((await revision(b)).status).toBe('DEPLOYED')
})

test('a rollback that has only begun is what new secrets start from', async () => {
  const { id, a } = await twoDeployed()
  await redeploy(id, a)
  const c = await rotate(id)
  expect(await made(c)).toEqual(await made(a))
  expect((await revision(a)).status).toBe('SKIPPED')
  expect(await work(id)).toEqual(['DEPLOY'])
})

test('a change that has failed is not tried again by new secrets: what is active gets them', async () => {
  const { id, b } = await twoDeployed()
  const failing = await toRef(id, 'broken')
  const claim = await claimOne(domain.plane, id)
  await failed(claim, claim.step!, {})
  await domain.plane.release(claim)
  expect((await revision(failing)).status).toBe('BUILD_FAILED')
  const c = await rotate(id)
  expect(await made(c)).toEqual(await made(b))
})

test('where nothing has ever run, new secrets build the commit that has failed once more', async () => {
  const id = await gitDeployment(ctx)
  const claim = await claimOne(domain.plane, id)
  const { step } = (await succeed(domain.plane, claim, claim.step!)).assignment
  await failed(claim, step!, { repoCommitSha: 'a'.repeat(40) })
  await rotate(id)
  const [news] = await domain.plane.heartbeat({ leaseSeconds: 60, claims: [claim] })
  expect(news!.assignment!.step).toMatchObject({ kind: 'BUILD', revision: { repoCommitSha: 'a'.repeat(40) } })
  await domain.plane.release(claim)
})

function failed(claim: Claim, step: Step, more: object) {
  const { claimId, token } = claim
  return domain.plane.complete({ claimId, token, stepId: step.id, outcome: 'failed', message: 'no', ...more })
}

test('a new revision without a word about the source is of what is active; with one it is of the latest', async () => {
  const { id, a, b } = await twoDeployed()
  await redeploy(id, a)
  await settle(domain.plane)
  const create = async (body: object) => (await createRevision(ctx, { path: { deployment_id: id }, body })).revisionId!
  expect(await made(await create({}))).toEqual(await made(a))
  await settle(domain.plane)
  const latest = await toRef(id, 'later')
  expect(await made(await create({ source_config: { install_command: 'true' } }))).toEqual({
    ...(await made(latest)),
    installCommand: 'true',
  })
  const path = { source_revision_config: { graph_config_path: 'other.json' }, secrets: SECRETS }
  expect(await made(await patch(id, path))).toMatchObject({ repoRef: 'later', graphConfigPath: 'other.json' })
  expect((await made(b)).repoRef).toBe('next')
})

test('commands that were changed since wait for the next source: a build is never of other commands than its own', async () => {
  const id = await gitDeployment(ctx)
  await settle(domain.plane)
  await updateDeployment(ctx, {
    path: { deployment_id: id },
    body: { source_config: { install_command: 'npm ci --omit=dev' } },
  })
  expect(await made(await rotate(id))).toMatchObject({ installCommand: null, artifact: expect.any(String) })
  expect(await made(await toRef(id, 'main'))).toMatchObject({ installCommand: 'npm ci --omit=dev', artifact: null })
})

test('new secrets while a build is under way wait for it and take what it has built', async () => {
  const id = await gitDeployment(ctx)
  const claim = await claimOne(domain.plane, id)
  const { step } = (await succeed(domain.plane, claim, claim.step!)).assignment
  const first = step!.revision!.id
  const skipped = await rotate(id)
  const c = await rotate(id)
  expect(await made(c)).toMatchObject({ repoCommitSha: null, artifact: null })
  expect(await workOff(domain.plane, { ...claim, step })).toEqual(['BUILD', 'DEPLOY', 'DEPLOY'])
  await domain.plane.release(claim)
  expect(await made(c)).toEqual(await made(first))
  expect([(await revision(skipped)).status, (await row(id)).activeRevisionId]).toEqual(['SKIPPED', c])
})

test('should the build under way fail, the one that waits builds the same commit, whatever the branch says by then', async () => {
  const id = await gitDeployment(ctx)
  const claim = await claimOne(domain.plane, id)
  const { step } = (await succeed(domain.plane, claim, claim.step!)).assignment
  const c = await rotate(id)
  const { assignment } = await failed(claim, step!, { repoCommitSha: 'b'.repeat(40) })
  expect(assignment.step).toMatchObject({ kind: 'BUILD', revision: { id: c, repoCommitSha: 'b'.repeat(40) } })
  await domain.plane.release(claim)
})

test('a build that is gone is gone for all that share it: each is built again from its commit', async () => {
  const id = await gitDeployment(ctx)
  await settle(domain.plane)
  const a = (await row(id)).latestRevisionId!
  const c = await rotate(id)
  const claim = await claimOne(domain.plane, id)
  expect(claim.keepArtifacts).toEqual([`artifact-${a}`])
  await failed(claim, claim.step!, { artifactLost: true })
  await domain.plane.release(claim)
  expect(await revision(c)).toMatchObject({ status: 'DEPLOY_FAILED', artifact: null })
  expect(await revision(a)).toMatchObject({ artifact: null })
  await redeploy(id, c)
  expect(await work(id)).toEqual(['BUILD', 'DEPLOY'])
  // and so is what starts from it
  await redeploy(id, a)
  expect(await work(id)).toEqual(['BUILD', 'DEPLOY'])
})

test('many rotated keys leave the way back to older code open', async () => {
  const { id, a } = await twoDeployed()
  for (let n = 0; n < 6; n++) {
    await rotate(id)
    await settle(domain.plane)
  }
  await redeploy(id, a)
  expect(await work(id)).toEqual(['DEPLOY'])
})

test('after a rollback to a tag, secrets can be changed although the deployment builds on push', async () => {
  const body = await gitBody(ctx)
  body.source_revision_config.repo_ref = 'refs/tags/v1'
  const { deploymentId: id, revisionId: tagged } = await createDeployment(ctx, { body })
  await settle(domain.plane)
  const follow = { source_config: { build_on_push: true } }
  await patch(id, { ...follow, source_revision_config: { repo_ref: 'main' } })
  await settle(domain.plane)
  await redeploy(id, tagged!)
  await settle(domain.plane)
  expect(await made(await rotate(id))).toMatchObject({ repoRef: 'refs/tags/v1', artifact: `artifact-${tagged}` })
  // who says one of the two is told of the other
  await expect(patch(id, follow)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  expect(await made(await toRef(id, 'main'))).toMatchObject({ repoRef: 'main', artifact: null })
})
