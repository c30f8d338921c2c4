// A build's commit is pinned to its revision, even if the build fails (docs/deployments.md#revisions-and-rollouts).
import { expect, test } from 'vitest'
import type { CompleteRequest } from '../../src/domain/protocol/protocol.ts'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import { countStatements } from '../support/database.ts'
import { gitDeployment, useDomain, useTenant } from '../support/domain.ts'
import { beat, claimOne, succeed } from '../support/holder.ts'

const domain = useDomain()
const ctx = useTenant(domain)

const A = 'a'.repeat(40)
const B = 'b'.repeat(40)

/** A deployment whose first build is running, with its holder. */
async function building() {
  const id = await gitDeployment(ctx)
  const claim = await claimOne(domain.plane, id)
  const step = (await succeed(domain.plane, claim, claim.step!)).assignment.step!
  const path = { deployment_id: id, revision_id: step.revision!.id }
  return {
    claim,
    step,
    path,
    report: (outcome: CompleteRequest['outcome'], more: Partial<CompleteRequest> = {}, stepId = step.id) =>
      domain.plane.complete({ claimId: claim.claimId, token: claim.token, stepId, outcome, ...more }),
    revision: () => domain.core.db.revision.findUniqueOrThrow({ where: { id: path.revision_id } }),
  }
}

test('a failed build pins its commit for every later attempt', async () => {
  const { claim, path, report, revision } = await building()
  expect(await report('failed', { message: 'no', repoCommitSha: A })).toMatchObject({ recorded: true })
  expect(await revision()).toMatchObject({ status: 'BUILD_FAILED', repoCommitSha: A, artifact: null })

  await redeployRevision(ctx, { path })
  const news = await beat(domain.plane, claim)
  const { step } = news.assignment!
  expect(step).toMatchObject({ kind: 'BUILD', revision: { repoCommitSha: A, attempt: 2 } })
  // another commit in the report changes nothing
  await report('failed', { repoCommitSha: B }, step!.id)
  expect(await revision()).toMatchObject({ status: 'BUILD_FAILED', repoCommitSha: A })

  await redeployRevision(ctx, { path })
  const again = await beat(domain.plane, claim)
  await report('succeeded', { repoCommitSha: B, artifact: 'b' }, again.assignment!.step!.id)
  expect(await revision()).toMatchObject({ status: 'DEPLOYING', repoCommitSha: A, artifact: 'b' })
})

test('a build that failed before it found a commit pins none', async () => {
  const { report, revision } = await building()
  await report('failed', { message: 'The repository can not be reached.' })
  expect(await revision()).toMatchObject({ status: 'BUILD_FAILED', repoCommitSha: null })
})

test('an interrupted build pins its commit once it has stopped, and a waiting redeploy builds that commit', async () => {
  const { path, report, revision } = await building()
  await interruptRevision(ctx, { path })
  await redeployRevision(ctx, { path })
  const { recorded, assignment } = await report('stopped', { repoCommitSha: A })
  expect(recorded).toBe(false)
  expect(assignment.step).toMatchObject({ kind: 'BUILD', revision: { repoCommitSha: A, attempt: 2 } })
  // a repeated report about a closed step changes nothing
  await report('stopped', { repoCommitSha: B })
  expect(await revision()).toMatchObject({ status: 'BUILDING', repoCommitSha: A })
})

test('a build that ended after its deadline pins its commit', async () => {
  const { step, report, revision } = await building()
  await domain.core.db.$executeRaw`UPDATE steps SET deadline_at = now() - interval '1 s' WHERE id = ${step.id}::uuid`
  expect(await report('succeeded', { repoCommitSha: A, artifact: 'late' })).toMatchObject({ recorded: false })
  expect(await revision()).toMatchObject({ status: 'BUILD_FAILED', repoCommitSha: A, artifact: null })
})

test('a report with a lost claim or about another kind of step pins no commit', async () => {
  const { claim, step, report, revision } = await building()
  await domain.plane.release(claim)
  const next = await claimOne(domain.plane, claim.deployment.id)
  await expect(report('failed', { repoCommitSha: A })).rejects.toMatchObject({ code: 'CLAIM_LOST' })
  expect((await revision()).repoCommitSha).toBeNull()
  await domain.plane.release(next)

  const other = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, other)
  expect(claimed.step!.kind).toBe('PROVISION')
  const { claimId, token } = claimed
  const stepId = claimed.step!.id
  await domain.plane.complete({ claimId, token, stepId, outcome: 'failed', repoCommitSha: A })
  // a report about another deployment's build changes nothing
  await domain.plane.complete({ claimId, token, stepId: step.id, outcome: 'failed', repoCommitSha: A })
  expect(await domain.core.db.revision.count({ where: { repoCommitSha: A, deploymentId: other } })).toBe(0)
  expect((await revision()).repoCommitSha).toBeNull()
})

test('pinning the commit costs no statement', async () => {
  const statements = async (more: Partial<CompleteRequest>) => {
    const { report } = await building()
    return (await countStatements(domain.database, () => report('failed', more))).length
  }
  expect(await statements({ repoCommitSha: A })).toBe(await statements({}))
})

test('a commit message is stored for all revisions of its commit and for no others', async () => {
  const { claim, path, report, revision } = await building()
  await report('failed', {
    message: 'no',
    repoCommitSha: A,
    commitMessage: ' First line \n\nMore',
    commitAuthor: 'Ada',
  })
  expect(await revision()).toMatchObject({ commitMessage: 'First line', commitAuthor: 'Ada' })
  await redeployRevision(ctx, { path })
  const news = await beat(domain.plane, claim)
  await report('failed', { repoCommitSha: B, commitMessage: 'Another', commitAuthor: 'Eve' }, news.assignment!.step!.id)
  expect(await revision()).toMatchObject({ repoCommitSha: A, commitMessage: 'First line', commitAuthor: 'Ada' })
})

test('a build adds the commit message to a commit that was pinned without one', async () => {
  const { claim, path, report, revision } = await building()
  await report('failed', { message: 'no', repoCommitSha: A })
  const again = async (words: object) => {
    await redeployRevision(ctx, { path })
    const news = await beat(domain.plane, claim)
    await report('failed', { repoCommitSha: A, ...words }, news.assignment!.step!.id)
    return (await revision()).commitMessage
  }
  await domain.core.db.revision.update({ where: { id: path.revision_id }, data: { repoCommitSha: A } })
  expect(await again({ repoCommitSha: B, commitMessage: 'Of another' })).toBeNull()
  expect(await again({ commitMessage: 'Of this one' })).toBe('Of this one')
})
