// Which revision a change of a deployment starts from (docs/deployments.md#deployments): secrets alone change no code and
// undo no rollback.
import { expect, test } from 'vitest'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { createRevision, updateDeployment } from '../../src/domain/deployments/update.ts'
import type { Claim, Step } from '../../src/domain/protocol/protocol.ts'
import { redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { openSecrets } from '../../src/domain/secrets/secret-set.ts'
import { gitBody, gitDeployment, useDomain, useTenant } from '../support/domain.ts'
import { beat, claimOne, settle, succeed, workOff } from '../support/holder.ts'

const domain = useDomain()
const ctx = useTenant(domain)

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

/** The revision's source. */
async function made(id: string) {
  const { repoRef, graphConfigPath, repoCommitSha, artifact, installCommand } = await revision(id)
  return { repoRef, graphConfigPath, repoCommitSha, artifact, installCommand }
}

/** Claims the deployment, completes its steps and releases it. Returns the kinds of the steps. */
async function work(id: string): Promise<string[]> {
  const claim = await claimOne(domain.plane, id)
  const kinds = await workOff(domain.plane, claim)
  await domain.plane.release(claim)
  return kinds
}

/** A deployment with two deployed revisions, of main (A) and next (B). B is active. */
async function twoDeployed() {
  const id = await gitDeployment(ctx)
  await settle(domain.plane)
  const a = (await row(id)).latestRevisionId!
  const b = await toRef(id, 'next')
  await settle(domain.plane)
  return { id, a, b }
}

test('new secrets after a rollback keep the older source and artifact and need no build', async () => {
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

test('new secrets start from a rollback in progress', async () => {
  const { id, a } = await twoDeployed()
  await redeploy(id, a)
  const c = await rotate(id)
  expect(await made(c)).toEqual(await made(a))
  expect((await revision(a)).status).toBe('SKIPPED')
  expect(await work(id)).toEqual(['DEPLOY'])
})

test('new secrets start from the active revision, not from a failed one', async () => {
  const { id, b } = await twoDeployed()
  const failing = await toRef(id, 'broken')
  const claim = await claimOne(domain.plane, id)
  await failed(claim, claim.step!, {})
  await domain.plane.release(claim)
  expect((await revision(failing)).status).toBe('BUILD_FAILED')
  const c = await rotate(id)
  expect(await made(c)).toEqual(await made(b))
})

test('new secrets without an active revision build the failed commit again', async () => {
  const id = await gitDeployment(ctx)
  const claim = await claimOne(domain.plane, id)
  const { step } = (await succeed(domain.plane, claim, claim.step!)).assignment
  await failed(claim, step!, { repoCommitSha: 'a'.repeat(40) })
  await rotate(id)
  const news = await beat(domain.plane, claim)
  expect(news.assignment!.step).toMatchObject({ kind: 'BUILD', revision: { repoCommitSha: 'a'.repeat(40) } })
  await domain.plane.release(claim)
})

function failed(claim: Claim, step: Step, more: object) {
  const { claimId, token } = claim
  return domain.plane.complete({ claimId, token, stepId: step.id, outcome: 'failed', message: 'no', ...more })
}

test('a new revision starts from the active one, or with a source field from the latest one', async () => {
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

test('changed commands take effect with the next source, not with new secrets', async () => {
  const id = await gitDeployment(ctx)
  await settle(domain.plane)
  await updateDeployment(ctx, {
    path: { deployment_id: id },
    body: { source_config: { install_command: 'npm ci --omit=dev' } },
  })
  expect(await made(await rotate(id))).toMatchObject({ installCommand: null, artifact: expect.any(String) })
  expect(await made(await toRef(id, 'main'))).toMatchObject({ installCommand: 'npm ci --omit=dev', artifact: null })
})

test('new secrets during a build wait for it and use its artifact', async () => {
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

test('a revision that waited for a failed build builds the same commit, even if the branch has moved', async () => {
  const id = await gitDeployment(ctx)
  const claim = await claimOne(domain.plane, id)
  const { step } = (await succeed(domain.plane, claim, claim.step!)).assignment
  const c = await rotate(id)
  const { assignment } = await failed(claim, step!, { repoCommitSha: 'b'.repeat(40) })
  expect(assignment.step).toMatchObject({ kind: 'BUILD', revision: { id: c, repoCommitSha: 'b'.repeat(40) } })
  await domain.plane.release(claim)
})

test('a lost artifact is built again from its commit for every revision that shares it', async () => {
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
  // the same holds for a revision that starts from it
  await redeploy(id, a)
  expect(await work(id)).toEqual(['BUILD', 'DEPLOY'])
})

test('a rollback to older code needs no build even after many changes of secrets', async () => {
  const { id, a } = await twoDeployed()
  for (let n = 0; n < 6; n++) {
    await rotate(id)
    await settle(domain.plane)
  }
  await redeploy(id, a)
  expect(await work(id)).toEqual(['DEPLOY'])
})

test('secrets can be changed after a rollback to a tag, although the deployment builds on push', async () => {
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
  // a caller that names one of the two fields is told about the other
  await expect(patch(id, follow)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  expect(await made(await toRef(id, 'main'))).toMatchObject({ repoRef: 'main', artifact: null })
})
