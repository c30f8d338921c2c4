/**
 * Exact numbers of statements for claims, reports and news of many deployments, and the isolation of each from the others'
 * faults.
 */
import pg from 'pg'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { claim } from '../../src/domain/claims/claim.ts'
import { complete } from '../../src/domain/claims/complete.ts'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import type { Claim, Step } from '../../src/domain/protocol/protocol.ts'
import { createNotifier } from '../../src/platform/async/notifier.ts'
import { countStatements } from '../support/database.ts'
import { gitBody, gitDeployment, useDomain, useTenant } from '../support/domain.ts'
import { settle, succeed, successOf, workOff } from '../support/holder.ts'

const domain = useDomain()
const ctx = useTenant(domain)
// removes the work of the previous test
beforeEach(() => domain.core.db.$executeRaw`UPDATE deployments SET torn_down_at = now() WHERE torn_down_at IS NULL`)

const count = async (work: () => Promise<unknown>) => (await countStatements(domain.database, work)).length
const make = (many: number) => Promise.all(Array.from({ length: many }, () => gitDeployment(ctx)))
const claimAll = (max = 100) => domain.plane.claim({ holder: 'holder', max, leaseSeconds: 60 })
const stepOf = (id: string) => domain.core.db.step.findFirstOrThrow({ where: { deploymentId: id, finishedAt: null } })
const report = (claimed: Claim, step: Step) => ({
  claimId: claimed.claimId,
  token: claimed.token,
  stepId: step.id,
  tries: step.tries,
  outcome: 'succeeded' as const,
  ...successOf(step),
})

/** Locks this deployment's row until the end of the test, or until the returned function is called. */
async function lockRow(id: string): Promise<() => Promise<void>> {
  const other = new pg.Client(domain.url)
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('BEGIN')
  await other.query('SELECT 1 FROM deployments WHERE id = $1 FOR UPDATE', [id])
  return async () => {
    await other.query('COMMIT')
  }
}

test.each([1, 10, 100])('a claim of %i deployments is three statements, in one transaction', async (many) => {
  await make(many)
  let claims: Claim[] = []
  // lock, read, write; PROVISION has no events
  const counted = await count(async () => {
    claims = await claimAll()
  })
  expect(claims).toHaveLength(many)
  expect(claims.every(({ step }) => step?.kind === 'PROVISION' && step.tries === 1)).toBe(true)
  expect(counted).toBe(3)
})

test('a claim that begins steps costs one more statement for all its events', async () => {
  const ids = await make(20)
  const claimed = await claimAll()
  await Promise.all(claimed.map((one) => workOff(domain.plane, one)))
  for (const one of claimed) await domain.plane.release(one)
  for (const id of ids)
    await updateDeployment(ctx, { path: { deployment_id: id }, body: { source_revision_config: { repo_ref: 'next' } } })
  let claims: Claim[] = []
  const counted = await count(async () => {
    claims = await claimAll()
  })
  expect(claims.map(({ step }) => step?.kind)).toEqual(Array(20).fill('BUILD'))
  expect(await domain.core.db.event.count({ where: { toStatus: 'BUILDING', deploymentId: { in: ids } } })).toBe(40)
  expect(counted).toBe(4)
})

test('a report and its next step cost four statements: lock, read, write, events', async () => {
  const [id] = await make(1)
  const [claimed] = await claimAll()
  const counted: Record<string, number> = {}
  for (let step: Step | null = claimed!.step; step; ) {
    const now: Step = step
    counted[now.kind] = await count(async () => {
      step = (await succeed(domain.plane, claimed!, now)).assignment.step
    })
  }
  expect(counted).toEqual({ PROVISION: 4, BUILD: 4, DEPLOY: 4 })
  // failed reports and repeated reports
  await updateDeployment(ctx, { path: { deployment_id: id }, body: { source_revision_config: { repo_ref: 'next' } } })
  const [news] = await domain.plane.heartbeat({
    leaseSeconds: 60,
    claims: [{ claimId: claimed!.claimId, token: claimed!.token }],
  })
  const failed = { ...report(claimed!, news!.assignment!.step!), outcome: 'failed' as const, message: 'No.' }
  expect(await count(() => domain.plane.complete(failed))).toBe(4)
  expect(await count(() => domain.plane.complete(failed))).toBe(2)
  expect(await count(() => domain.plane.release(claimed!))).toBe(3)
})

test('a report that waits for a shared transaction does not block the key’s next call', async () => {
  await make(20)
  const claims = await claimAll()
  let yielded = 0
  const call = { ...domain.core, yieldTurn: () => yielded++ }
  const recorded = await Promise.all(
    claims.map((claimed) => complete(call, { listenerId: null }, report(claimed, claimed.step!))),
  )
  expect(recorded).toHaveLength(20)
  // the first one runs alone
  expect(yielded).toBe(19)
})

test('concurrent reports are recorded together', async () => {
  await make(20)
  const claims = await claimAll()
  let answers: Awaited<ReturnType<typeof succeed>>[] = []
  const counted = await count(async () => {
    answers = await Promise.all(claims.map((claimed) => succeed(domain.plane, claimed, claimed.step!)))
  })
  expect(answers.every(({ recorded, assignment }) => recorded && assignment.step?.kind === 'BUILD')).toBe(true)
  // the first one starts immediately, the others share the next transaction
  expect(counted).toBeLessThanOrEqual(3 * 4)
})

test('two concurrent copies of a report are recorded once, and both get an answer', async () => {
  await make(3)
  const claims = await claimAll()
  const twice = [...claims, ...claims]
  const answers = await Promise.all(twice.map((claimed) => succeed(domain.plane, claimed, claimed.step!)))
  expect(answers.every(({ recorded, assignment }) => recorded && assignment.step?.tries === 1)).toBe(true)
  for (const claimed of claims)
    expect(
      await domain.core.db.event.count({
        where: { deploymentId: claimed.deployment.id, type: 'deployment.provisioned' },
      }),
    ).toBe(1)
})

test('an invalid report among concurrent ones is refused alone', async () => {
  await make(4)
  const claims = await claimAll()
  const answers = await Promise.all(claims.map((claimed) => succeed(domain.plane, claimed, claimed.step!)))
  const [bad, stale, ...good] = claims.map((claimed, i) => report(claimed, answers[i]!.assignment.step!))
  const settled = await Promise.allSettled([
    ...good.map((one) => domain.plane.complete(one)),
    domain.plane.complete({ ...bad!, artifact: undefined }),
    domain.plane.complete({ ...stale!, token: '999' }),
  ])
  expect(settled).toMatchObject([
    { status: 'fulfilled', value: { recorded: true } },
    { status: 'fulfilled', value: { recorded: true } },
    { status: 'rejected', reason: { code: 'VALIDATION_FAILED' } },
    { status: 'rejected', reason: { code: 'CLAIM_LOST' } },
  ])
})

test('a heartbeat with news of thirty claims costs three statements', async () => {
  await make(30)
  const claims = await claimAll()
  await Promise.all(claims.map((claimed) => workOff(domain.plane, claimed)))
  await domain.core.db.deployment.updateMany({ where: { tornDownAt: null }, data: { generation: { increment: 1 } } })
  const items = claims.map(({ claimId, token }) => ({ claimId, token, generation: 1 }))
  let answers: Awaited<ReturnType<typeof domain.plane.heartbeat>> = []
  const counted = await count(async () => {
    answers = await domain.plane.heartbeat({ leaseSeconds: 60, claims: items })
  })
  expect(answers.every(({ assignment }) => assignment?.run)).toBe(true)
  // the renewal, the lock and the read; there is nothing to write
  expect(counted).toBe(3)
})

test('two holders that claim concurrently get different deployments, and no deployment is left out', async () => {
  const ids = await make(40)
  const scope = { listenerId: null }
  const both = await Promise.all(
    ['a', 'b'].map((holder) => claim(domain.core, scope, { holder, max: 20, leaseSeconds: 60 })),
  )
  expect(both.map((claims) => claims.length)).toEqual([20, 20])
  expect(new Set(both.flat().map(({ deployment }) => deployment.id))).toEqual(new Set(ids))
})

test('a locked deployment is left out of a claim and handed out when it is unlocked', async () => {
  const ids = await make(5)
  const free = await lockRow(ids[2]!)
  const claims = await claimAll()
  expect(claims.map(({ deployment }) => deployment.id).sort()).toEqual(ids.filter((_, i) => i !== 2).sort())
  await free()
  expect((await claimAll()).map(({ deployment, step }) => [deployment.id, step?.tries])).toEqual([[ids[2], 1]])
})

test('a locked step delays only its own deployment’s claim', async () => {
  const ids = await make(3)
  const other = new pg.Client(domain.url)
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('BEGIN')
  await other.query('SELECT 1 FROM steps WHERE deployment_id = $1 FOR UPDATE', [ids[1]])
  const claiming = claimAll()
  const taken = () => domain.core.db.step.count({ where: { deploymentId: { in: ids }, tries: 1 } })
  await expect.poll(taken, { timeout: 20_000 }).toBe(2)
  await other.query('COMMIT')
  expect((await claiming).map(({ deployment }) => deployment.id).sort()).toEqual([...ids].sort())
})

test('a report about a locked deployment waits alone, and the others are answered', async () => {
  const ids = await make(5)
  const claims = await claimAll()
  const free = await lockRow(ids[2]!)
  let answered = 0
  const reports = claims.map(async (claimed) => {
    const answer = await succeed(domain.plane, claimed, claimed.step!)
    answered++
    return answer
  })
  await expect.poll(() => answered, { timeout: 20_000 }).toBe(4)
  await free()
  expect((await Promise.all(reports)).every(({ recorded }) => recorded)).toBe(true)
})

test('a faulty deployment does not affect the others of a claim', async () => {
  const ids = await make(5)
  const [broken] = ids
  // makes every write of its step fail
  await domain.core.db.$executeRawUnsafe(`
    ALTER TABLE steps ADD CONSTRAINT broken CHECK (deployment_id <> '${broken}' OR tries = 0) NOT VALID`)
  onTestFinished(async () => {
    await domain.core.db.$executeRaw`ALTER TABLE steps DROP CONSTRAINT broken`
  })
  const claims = await claimAll()
  expect(claims.map(({ deployment }) => deployment.id).sort()).toEqual(ids.slice(1).sort())
  expect(claims.every(({ step }) => step?.tries === 1)).toBe(true)
  expect(await stepOf(broken!)).toMatchObject({ tries: 0 })
})

test('secrets that can’t be decrypted affect only their own deployment', async () => {
  const body = await gitBody(ctx, 'sealed')
  const { deploymentId: sealed } = await createDeployment(ctx, {
    body: { ...body, secrets: [{ name: 'TOKEN', value: 'value' }] },
  })
  const ids = await make(3)
  await domain.core.db.secretSet.updateMany({ where: { deploymentId: sealed }, data: { keyId: 'newer' } })
  const counted = await count(async () => {
    const claims = await claimAll()
    expect(claims.map(({ deployment }) => deployment.id).sort()).toEqual([...ids].sort())
  })
  expect(counted).toBe(3)
  // no step was started for it
  expect(await stepOf(sealed)).toMatchObject({ tries: 0 })
  // its holder can release it
  const { claimId, leaseToken } = await domain.core.db.deployment.findUniqueOrThrow({ where: { id: sealed } })
  await domain.plane.release({ claimId: claimId!, token: String(leaseToken) })
  expect(await domain.core.db.deployment.findUniqueOrThrow({ where: { id: sealed } })).toMatchObject({ claimId: null })
})

test('a step of an older server, without a list of claims, can be taken and returned', async () => {
  const [id] = await make(1)
  await domain.core.db.$executeRaw`UPDATE steps SET taken_by = NULL WHERE deployment_id = ${id}::uuid`
  const [claimed] = await claimAll()
  expect(await stepOf(id!)).toMatchObject({ tries: 1, takenBy: [claimed!.claimId] })
  await domain.plane.release(claimed!)
  expect(await stepOf(id!)).toMatchObject({ tries: 0, takenBy: [] })
})

test('a call without concurrent calls runs alone', async () => {
  await make(3)
  const plane = localControlPlane({ ...domain.core, gather: undefined })
  const claims = await plane.claim({ holder: 'alone', max: 3, leaseSeconds: 60 })
  const answers = await Promise.all(claims.map((claimed) => succeed(plane, claimed, claimed.step!)))
  expect(answers.every(({ recorded }) => recorded)).toBe(true)
  for (const claimed of claims) await plane.release(claimed)
  await settle(domain.plane)
})

test('a waiting worker finds work even if the server died before it woke the worker', async () => {
  const waiting = claim(
    { ...domain.core, notifier: createNotifier() },
    { listenerId: null },
    { holder: 'waits', max: 1, leaseSeconds: 60, waitSeconds: 30 },
  )
  const id = await gitDeployment({ ...ctx, wake() {} })
  expect((await waiting).map(({ deployment }) => deployment.id)).toEqual([id])
})
