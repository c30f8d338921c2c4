import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createAdmission } from '../../src/app/admission.ts'
import { claim } from '../../src/domain/claims/claim.ts'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { heartbeat } from '../../src/domain/claims/heartbeat.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import type { Violation } from '../../src/domain/errors/errors.ts'
import type { Claim } from '../../src/domain/protocol/protocol.ts'
import { createRetention } from '../../src/domain/retain.ts'
import { sweep } from '../../src/domain/rollouts/sweep.ts'
import { Overload } from '../../src/platform/async/overload.ts'
import { gitDeployment, useDomain, useTenant } from '../support/domain.ts'
import { claimOne, report, settle, succeed, workOff } from '../support/holder.ts'

const domain = useDomain()
const ctx = useTenant(domain)

const row = (id: string) => domain.core.db.deployment.findUniqueOrThrow({ where: { id } })
const latest = async (id: string) =>
  domain.core.db.revision.findUniqueOrThrow({ where: { id: (await row(id)).latestRevisionId! } })
const loseWorker = (id: string) =>
  domain.core.db
    .$executeRaw`UPDATE deployments SET lease_expires_at = now() - interval '1 second' WHERE id = ${id}::uuid`
/** A provisioned deployment whose build is next. */
const prepared = async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  await succeed(domain.plane, claimed, claimed.step!)
  await domain.plane.release(claimed)
  return id
}
const LOST =
  'The worker of this step was lost 3 times. Redeploy it; the log of the server or listener may have the cause.'
const beat = (claimed: Claim, generation?: number) =>
  domain.plane.heartbeat({ leaseSeconds: 60, claims: [{ claimId: claimed.claimId, token: claimed.token, generation }] })

test('a deployment’s updated_at changes only with a caller’s change, a revision’s with its status', async () => {
  const id = await gitDeployment(ctx)
  const made = await row(id)
  const before = await latest(id)
  await settle(domain.plane)
  expect(await row(id)).toMatchObject({ activeRevisionId: before.id, updatedAt: made.updatedAt })
  const after = await latest(id)
  expect(after.updatedAt).toEqual(after.statusSince)
  expect(after.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime())
})

test('an agent’s output does not wait for a lock on its deployment', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  const { id: revisionId } = await latest(id)
  const line = { type: 'deploy' as const, message: 'said', time: new Date() }
  await domain.core.db.$transaction(async (sql) => {
    await sql.$queryRaw`SELECT 1 FROM deployments WHERE id = ${id}::uuid FOR UPDATE`
    await domain.plane.logs({ claimId: claimed.claimId, token: claimed.token, revisionId, attempt: 1, entries: [line] })
  })
  expect(await domain.core.db.logLine.findMany({ where: { deploymentId: id } })).toMatchObject([{ message: 'said' }])
  await domain.plane.release(claimed)
  await settle(domain.plane)
})

test('only the holder can raise its token above one that agents have seen', async () => {
  const id = await gitDeployment(ctx)
  const first = await claimOne(domain.plane, id)
  const raised = await domain.plane.raiseToken!(first, '41')
  expect(raised).toBe('42')
  await expect(succeed(domain.plane, first, first.step!)).rejects.toMatchObject({ code: 'CLAIM_LOST' })
  const claimed = { ...first, token: raised }
  expect(await beat(claimed, claimed.generation)).toMatchObject([{ lost: false }])
  // a seen token is never greater than the stored one
  expect(await domain.plane.raiseToken!(claimed, '3')).toBe('42')
  await loseWorker(id)
  await expect(domain.plane.raiseToken!(claimed, '50')).rejects.toMatchObject({ code: 'CLAIM_LOST' })
  const second = await claimOne(domain.plane, id)
  expect(second.token).toBe('43')
  await domain.plane.release(second)
  await settle(domain.plane)
})

test('a lease that ran out is lost even if no other worker took it', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  await loseWorker(id)
  expect((await beat(claimed))[0]!.lost).toBe(true)
  await settle(domain.plane)
})

test('a lost worker does not change the status, and the third loss fails the step', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  await succeed(domain.plane, claimed, claimed.step!)
  for (const tries of [2, 3]) {
    await loseWorker(id)
    await sweep(domain.core)
    expect((await latest(id)).status).toBe('BUILDING')
    expect((await claimOne(domain.plane, id)).step).toMatchObject({ kind: 'BUILD', tries })
  }
  await loseWorker(id)
  await sweep(domain.core)
  // its holder may still return, while no other worker takes the step
  expect((await latest(id)).status).toBe('BUILDING')
  expect((await claimOne(domain.plane, id)).step).toBeNull()
  expect(await latest(id)).toMatchObject({
    status: 'BUILD_FAILED',
    statusMessage: expect.stringContaining('lost 3 times'),
  })
  await loseWorker(id)
})

test('a step fails when its third worker is silent for a minute, even if no other worker comes', async () => {
  const id = await prepared()
  for (let i = 0; i < 3; i++) {
    await claimOne(domain.plane, id)
    await loseWorker(id)
  }
  await sweep(domain.core)
  expect((await latest(id)).status).toBe('BUILDING')
  await domain.core.db
    .$executeRaw`UPDATE deployments SET lease_expires_at = now() - interval '61 seconds' WHERE id = ${id}::uuid`
  await sweep(domain.core)
  expect(await latest(id)).toMatchObject({ status: 'BUILD_FAILED', statusMessage: LOST })
})

test('a worker lost during provisioning costs no try, because no code of the deployer runs then', async () => {
  const id = await gitDeployment(ctx)
  for (let loss = 1; loss <= 4; loss++) {
    expect((await claimOne(domain.plane, id)).step).toMatchObject({ kind: 'PROVISION', tries: loss })
    await loseWorker(id)
    await sweep(domain.core)
  }
  await settle(domain.plane)
  expect((await latest(id)).status).toBe('DEPLOYED')
})

test('a worker that dies with several builds costs no try, with a single build it costs one', async () => {
  const ids = [await prepared(), await prepared()]
  const counted = async (id: string) => {
    const step = await domain.core.db.step.findFirstOrThrow({ where: { deploymentId: id, finishedAt: null } })
    return step.tries - step.triesGivenBack
  }
  for (let death = 1; death <= 4; death++) {
    const taken = await domain.plane.claim({ holder: `dies-${death}`, max: 1000, leaseSeconds: 600 })
    const own = taken.filter(({ deployment }) => ids.includes(deployment.id))
    expect(own.map(({ step }) => step?.kind)).toEqual(['BUILD', 'BUILD'])
    for (const other of taken) if (!own.includes(other)) await domain.plane.release(other)
    await domain.plane.releaseHolder(`dies-${death}`)
    expect(await Promise.all(ids.map(counted))).toEqual([0, 0])
  }
  const alone = await claimOne(domain.plane, ids[0]!)
  const { leaseHolder } = await row(alone.deployment.id)
  await domain.plane.releaseHolder(leaseHolder!)
  expect(await counted(ids[0]!)).toBe(1)
  await settle(domain.plane)
})

test('the deadline stands still without a lease, and a step not taken again for a day fails', async () => {
  const id = await gitDeployment(ctx)
  const stepOf = () => domain.core.db.step.findFirstOrThrow({ where: { deploymentId: id, finishedAt: null } })
  const lostFor = async (hours: number) => {
    // the lease ended one minute before the deadline
    await domain.core.db.$executeRaw`
      UPDATE deployments SET lease_expires_at = now() - make_interval(hours => ${hours}::int) WHERE id = ${id}::uuid`
    await domain.core.db.$executeRaw`
      UPDATE steps SET deadline_at = now() - make_interval(hours => ${hours}::int) + interval '1 minute' WHERE deployment_id = ${id}::uuid`
    await sweep(domain.core)
  }
  await claimOne(domain.plane, id)
  await lostFor(2)
  expect(await latest(id)).toMatchObject({ status: 'CREATING', reason: 'WAITING_FOR_WORKER' })
  const second = await claimOne(domain.plane, id)
  expect(second.step!.secondsLeft).toBeGreaterThan(50)
  expect(second.step!.secondsLeft).toBeLessThan(61)
  // the same for a released lease
  await domain.plane.release(second)
  await domain.core.db.$executeRaw`
    UPDATE steps SET deadline_at = now() - interval '1 hour', paused_at = now() - interval '61 minutes' WHERE deployment_id = ${id}::uuid`
  await sweep(domain.core)
  const third = await claimOne(domain.plane, id)
  expect(third.step!.secondsLeft).toBeGreaterThan(50)
  expect(await stepOf()).toMatchObject({ pausedAt: null })
  await lostFor(25)
  expect(await latest(id)).toMatchObject({ status: 'CREATE_FAILED', reason: 'NOBODY_TOOK_IT' })
})

test('a starved holder loses no try when its leases are assigned one by one', async () => {
  const id = await prepared()
  const request = { holder: 'starved', max: 1000, leaseSeconds: 60 }
  await domain.plane.claim(request)
  for (let loss = 2; loss <= 4; loss++) {
    for (const claimed of await domain.core.db.deployment.findMany({ where: { leaseHolder: 'starved' } }))
      await loseWorker(claimed.id)
    // the shared statement fails once, as at a timeout
    let failed = false
    const { transact } = domain.core
    const failsOnce: typeof transact = (work) =>
      transact((connection) =>
        work({
          ...connection,
          query: (statement, values) => {
            if (failed || statement.name !== 'claim states') return connection.query(statement, values)
            failed = true
            return Promise.reject(new Error('it took too long'))
          },
        }),
      )
    const claims = await claim({ ...domain.core, transact: failsOnce }, { listenerId: null }, request)
    expect(failed).toBe(true)
    expect(claims.find(({ deployment }) => deployment.id === id)?.step).toMatchObject({ kind: 'BUILD', tries: loss })
    const step = await domain.core.db.step.findFirstOrThrow({ where: { deploymentId: id, finishedAt: null } })
    expect(step.tries - step.triesGivenBack).toBe(1)
  }
  await domain.plane.releaseHolder('starved')
  await settle(domain.plane)
})

test('an overloaded server provisions one deployment at a time and explains the wait of the others', async () => {
  await settle(domain.plane)
  const overload = new Overload()
  const underWay: ('PROVISION' | 'BUILD')[] = []
  const core = { ...domain.core, overload, admission: createAdmission(overload, () => underWay) }
  const plane = localControlPlane(core)
  const starved = { eventLoopMs: 60, databaseMs: 20, cpuPressure: 97 }
  for (let i = 0; i < 3; i++) overload.note(starved)
  const ids = [await gitDeployment(ctx), await gitDeployment(ctx), await gitDeployment(ctx)]
  const request = { holder: 'busy', max: 1000, leaseSeconds: 60 }
  const begun = (await plane.claim(request)).filter(({ step }) => step)
  expect(begun.map(({ step }) => step!.kind)).toEqual(['PROVISION'])
  underWay.push('PROVISION')
  expect((await plane.claim(request)).filter(({ step }) => step)).toEqual([])
  await sweep(core)
  const waiting = ids.filter((id) => id !== begun[0]!.deployment.id)
  for (const id of waiting)
    expect(await latest(id)).toMatchObject({
      reason: 'SERVER_OVERLOADED',
      statusMessage: 'Waiting: this server is overloaded (CPU).',
    })
  for (let i = 0; i < 5; i++) overload.note({ ...starved, eventLoopMs: 1 })
  await sweep(core)
  for (const id of waiting) expect((await latest(id)).reason).toBeNull()
  underWay.pop()
  await plane.releaseHolder('busy')
  await settle(plane)
  for (const id of ids) expect((await latest(id)).status).toBe('DEPLOYED')
})

test.each<[string, (late: Claim) => Promise<unknown>]>([
  ['a heartbeat', (late) => beat(late)],
  ['a report', (late) => succeed(domain.plane, late, late.step!)],
  ['a release', (late) => domain.plane.release(late)],
  [
    'a log line',
    ({ claimId, token }) => domain.plane.logs({ claimId, token, revisionId: claimId, attempt: 1, entries: [] }),
  ],
])('a worker that lost its lease and returns with %s costs no try', async (_, say) => {
  const id = await gitDeployment(ctx)
  const tryOf = () => domain.core.db.step.findFirstOrThrow({ where: { deploymentId: id } })
  for (let loss = 1; loss <= 5; loss++) {
    const late = await claimOne(domain.plane, id)
    expect(late.step).toMatchObject({ kind: 'PROVISION', tries: loss })
    await loseWorker(id)
    // twice: before the step is taken again, and after that; each try is returned once
    for (let times = 0; times < 2; times++) await say(late).catch((error) => expect(error.code).toBe('CLAIM_LOST'))
    expect(await tryOf()).toMatchObject({ tries: loss, triesGivenBack: loss, takenBy: [] })
  }
  await settle(domain.plane)
  expect((await latest(id)).status).toBe('DEPLOYED')
})

test('a worker that returns after another took the step gets back its own try, not the other’s', async () => {
  const id = await prepared()
  const slow = await claimOne(domain.plane, id)
  await loseWorker(id)
  const next = await claimOne(domain.plane, id)
  const dead = async () => {
    await loseWorker(id)
    return claimOne(domain.plane, id)
  }
  // the step's holder loses nothing by a wrong report
  await expect(domain.plane.release({ ...next, token: '999' })).rejects.toMatchObject({ code: 'CLAIM_LOST' })
  expect(await beat(slow)).toMatchObject([{ lost: true }])
  const step = await domain.core.db.step.findFirstOrThrow({ where: { deploymentId: id, finishedAt: null } })
  expect(step).toMatchObject({ tries: 2, triesGivenBack: 1, takenBy: [next.claimId] })
  expect((await dead()).step).toMatchObject({ tries: 3 })
  expect((await dead()).step).toMatchObject({ tries: 4 })
  expect((await dead()).step).toBeNull()
  expect(await latest(id)).toMatchObject({ status: 'BUILD_FAILED', statusMessage: LOST })
  await loseWorker(id)
})

test('a starved worker that leases its deployment again never uses up the tries', async () => {
  const id = await gitDeployment(ctx)
  for (let loss = 1; loss <= 5; loss++) {
    const claims = await domain.plane.claim({ holder: 'starved', max: 1000, leaseSeconds: 60 })
    expect(claims.find(({ deployment }) => deployment.id === id)?.step).toMatchObject({ kind: 'PROVISION' })
    for (const { deployment } of claims) await loseWorker(deployment.id)
    await sweep(domain.core)
  }
  // the deadline still limits the step
  await domain.core.db
    .$executeRaw`UPDATE steps SET deadline_at = now() - interval '1 minute' WHERE deployment_id = ${id}::uuid`
  await sweep(domain.core)
  expect((await latest(id)).status).toBe('CREATE_FAILED')
})

test('a listener can’t return tries of other listeners’ deployments', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  await loseWorker(id)
  const listener = await domain.core.db.listener.create({
    data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId: 'curious', k8sNamespaces: [] },
  })
  const claims = [{ claimId: claimed.claimId, token: claimed.token }]
  await heartbeat(domain.core, { listenerId: listener.id }, { leaseSeconds: 60, claims })
  const step = await domain.core.db.step.findFirstOrThrow({ where: { deploymentId: id } })
  expect(step).toMatchObject({ tries: 1, triesGivenBack: 0, takenBy: [claimed.claimId] })
  await settle(domain.plane)
})

test('a step that was not handed out can’t be completed', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  const failed = await report(domain.plane, claimed, claimed.step!, 'failed')
  expect(failed.assignment.step).toBeNull()
  await updateDeployment(ctx, { path: { deployment_id: id }, body: { source_revision_config: { repo_ref: 'next' } } })
  const { id: stepId } = await domain.core.db.step.findFirstOrThrow({ where: { deploymentId: id, finishedAt: null } })
  const early = await domain.plane.complete({
    claimId: claimed.claimId,
    token: claimed.token,
    stepId,
    outcome: 'succeeded',
  })
  expect(early).toMatchObject({ recorded: false, assignment: { step: { id: stepId, tries: 1 } } })
  expect((await row(id)).provisionedAt).toBeNull()
  await domain.plane.release(claimed)
})

test('leases of a holder that disconnected before the answer are released, and no try counts', async () => {
  await settle(domain.plane)
  const id = await gitDeployment(ctx)
  const gone = new AbortController()
  const stop = domain.database.onQuery((sql) => {
    if (sql.includes('free AS MATERIALIZED')) gone.abort()
  })
  expect(
    await claim(domain.core, { listenerId: null }, { holder: 'x', max: 5, leaseSeconds: 600 }, gone.signal),
  ).toEqual([])
  stop()
  expect(gone.signal.aborted).toBe(true)
  expect((await claimOne(domain.plane, id)).step).toMatchObject({ kind: 'PROVISION', tries: 1 })
  await loseWorker(id)
})

test('a successful build must report its artifact and commit', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  const { step } = (await succeed(domain.plane, claimed, claimed.step!)).assignment
  const report = { claimId: claimed.claimId, token: claimed.token, stepId: step!.id, outcome: 'succeeded' as const }
  const violations = async (more: object) =>
    domain.plane.complete({ ...report, ...more }).then(
      () => [],
      (error) => error.violations.map(({ loc, type }: Violation) => `${loc.join('.')} ${type}`),
    )
  expect(await violations({})).toEqual(['body.artifact missing', 'body.repo_commit_sha missing'])
  expect(await violations({ artifact: 'a' })).toEqual(['body.repo_commit_sha missing'])
  expect(await latest(id)).toMatchObject({ status: 'BUILDING', artifact: null })
  expect(await succeed(domain.plane, claimed, step!)).toMatchObject({ recorded: true })
  await domain.plane.release(claimed)
})

test('a release costs no try, and the next worker gets the step immediately', async () => {
  const id = await gitDeployment(ctx)
  for (let i = 0; i < 5; i++) {
    const claimed = await claimOne(domain.plane, id)
    expect(claimed.step).toMatchObject({ kind: 'PROVISION', tries: 1 })
    await domain.plane.release(claimed)
  }
  await settle(domain.plane)
})

test('the deadline runs from the first try across workers, and the step fails when it passes', async () => {
  const id = await gitDeployment(ctx)
  const first = await claimOne(domain.plane, id)
  await domain.plane.release(first)
  const second = await claimOne(domain.plane, id)
  expect(second.step!.secondsLeft).toBeLessThan(first.step!.secondsLeft)
  await domain.core.db
    .$executeRaw`UPDATE steps SET deadline_at = now() - interval '1 second' WHERE deployment_id = ${id}::uuid`
  // the report comes too late: the deadline counts, not the time of the sweep
  expect((await succeed(domain.plane, second, second.step!)).recorded).toBe(false)
  expect(await latest(id)).toMatchObject({
    status: 'CREATE_FAILED',
    statusMessage: 'Preparing exceeded its deadline of 10 min. Redeploy it, or raise PROVISION_DEADLINE_MINUTES.',
  })
})

test('a step that exceeds its deadline says what it waited for and what to do', async () => {
  const id = await gitDeployment(ctx)
  const { claimId, token } = await claimOne(domain.plane, id)
  const progress = { reason: 'WAITING_FOR_TURN' as const, message: 'Its database waits for its turn.' }
  await domain.plane.heartbeat({ leaseSeconds: 60, claims: [{ claimId, token, progress }] })
  await domain.core.db
    .$executeRaw`UPDATE steps SET deadline_at = now() - interval '1 second' WHERE deployment_id = ${id}::uuid`
  await sweep(domain.core)
  expect((await latest(id)).statusMessage).toBe(
    'Its database waits for its turn. Preparing exceeded its deadline of 10 min while it waited for this. Redeploy it, or raise PROVISION_DEADLINE_MINUTES.',
  )
})

test.each([
  ['PROVISION', 'CREATE_FAILED', 10],
  ['BUILD', 'BUILD_FAILED', 30],
  ['DEPLOY', 'DEPLOY_FAILED', 10],
] as const)(
  'the sweep fails a %s that exceeded its deadline, and the worker is told to stop',
  async (kind, status, minutes) => {
    const id = await gitDeployment(ctx)
    const claimed = await claimOne(domain.plane, id)
    let step = claimed.step!
    let generation = claimed.generation
    while (step.kind !== kind) {
      const { assignment } = await succeed(domain.plane, claimed, step)
      step = assignment.step!
      generation = assignment.generation
    }
    await domain.core.db
      .$executeRaw`UPDATE steps SET deadline_at = now() - interval '1 second' WHERE id = ${step.id}::uuid`
    await sweep(domain.core)
    expect(await latest(id)).toMatchObject({
      status,
      statusMessage: expect.stringContaining(`deadline of ${minutes} min`),
    })
    expect((await beat(claimed, generation))[0]!.assignment).toMatchObject({ stop: true, step: null })
  },
)

test('a deploy that waits for old pods keeps its deadline away, for at most a day and not once it has passed', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  const { claimId, token } = claimed
  const wait = (secondsLeft: number) =>
    domain.plane.heartbeat({ leaseSeconds: 60, claims: [{ claimId, token, secondsLeft }] })
  const deadline = async (stepId: string) => {
    const { deadlineAt, firstTakenAt } = await domain.core.db.step.findUniqueOrThrow({ where: { id: stepId } })
    return (deadlineAt!.getTime() - firstTakenAt!.getTime()) / 1000
  }
  await wait(7200)
  expect(await deadline(claimed.step!.id), 'only a deploy waits for pods').toBe(600)
  const { step: build } = (await succeed(domain.plane, claimed, claimed.step!)).assignment
  const { step } = (await succeed(domain.plane, claimed, build!)).assignment
  await wait(60)
  expect(await deadline(step!.id), 'it never comes closer').toBe(600)
  await wait(7200)
  expect(await deadline(step!.id)).toBeGreaterThanOrEqual(7200)
  await wait(100 * 3600)
  expect(await deadline(step!.id)).toBe(24 * 3600)
  await domain.core.db
    .$executeRaw`UPDATE steps SET deadline_at = now() - interval '1 second' WHERE id = ${step!.id}::uuid`
  await wait(7200)
  await sweep(domain.core)
  expect(await latest(id)).toMatchObject({ status: 'DEPLOY_FAILED', reason: 'DEADLINE' })
})

test('a step not taken for a day fails, and the message says which worker was missing', async () => {
  const id = await gitDeployment(ctx)
  await domain.core.db
    .$executeRaw`UPDATE steps SET created_at = now() - interval '25 hours' WHERE deployment_id = ${id}::uuid`
  await sweep(domain.core)
  expect(await latest(id)).toMatchObject({
    status: 'CREATE_FAILED',
    statusMessage: expect.stringContaining('built-in worker'),
  })
})

test('a heartbeat returns only news, and costs one statement without news', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  await workOff(domain.plane, claimed)
  const [news] = await beat(claimed)
  expect(news!.assignment).toMatchObject({ run: { revision: { id: (await latest(id)).id } }, step: null })
  const { generation } = news!.assignment!
  expect((await beat(claimed, generation))[0]!.assignment).toBeNull()

  await updateDeployment(ctx, {
    path: { deployment_id: id },
    body: { source_config: { resource_spec: { cpu: 1.26, memory_mb: 512 } } },
  })
  const [changed] = await beat(claimed, generation)
  expect(changed!.assignment!.run!.spec).toMatchObject({
    cpu: 1.3,
    cpu_limit: 2.6,
    memory_limit_mb: 1024,
    min_scale: 1,
  })
  await domain.plane.release(claimed)
})

test('a deployment shows the health and idleness that its holder reports', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  await workOff(domain.plane, claimed)
  const { claimId, token } = claimed
  const report = (ready: number, idle: boolean, more = {}) =>
    domain.plane.heartbeat({
      leaseSeconds: 60,
      claims: [{ claimId, token, health: { ready, desired: 1, message: null, ...more }, idle }],
    })
  await report(1, true)
  const { idle, health } = await row(id)
  expect({ idle, health }).toMatchObject({
    idle: true,
    health: { ready: 1, desired: 1, observedAt: expect.any(String) },
  })
  // the end of a replaced replica is no other health
  await report(1, true, { draining: 2 })
  expect((await row(id)).health).toEqual({ ...(health as object), draining: 2 })
  await report(1, true)
  expect((await row(id)).health).toEqual(health)
  await report(0, false)
  expect(await row(id)).toMatchObject({ idle: false, health: { ready: 0 } })
  await domain.plane.release(claimed)
})

test('a deployment that can’t be assigned does not affect the other claims', async () => {
  const [broken, whole] = [await gitDeployment(ctx), await gitDeployment(ctx)]
  const request = { holder: 'h', max: 1000, leaseSeconds: 60 }
  const body = { secrets: [{ name: 'TOKEN', value: 'sealed' }] }
  const claims = await domain.plane.claim(request)
  const of = (id: string) => claims.find((claim) => claim.deployment.id === id)!
  for (const id of [broken, whole]) {
    await workOff(domain.plane, of(id))
    await updateDeployment(ctx, { path: { deployment_id: id }, body })
  }
  // encrypted with a key that only another server's ring has
  await domain.core.db.secretSet.updateMany({ where: { deploymentId: broken }, data: { keyId: 'newer' } })
  const news = await domain.plane.heartbeat({
    leaseSeconds: 60,
    claims: [broken, whole].map((id) => ({ claimId: of(id).claimId, token: of(id).token })),
  })
  expect(news).toMatchObject([
    { lost: false, assignment: null },
    { lost: false, assignment: { step: { kind: 'DEPLOY' } } },
  ])
  for (const claimed of claims) await domain.plane.release(claimed)
  const next = await domain.plane.claim(request)
  expect(next.map((claim) => claim.deployment.id)).toContain(whole)
  expect(next.map((claim) => claim.deployment.id)).not.toContain(broken)
  for (const claimed of next) await domain.plane.release(claimed)
  await domain.core.db.secretSet.updateMany({ where: { deploymentId: broken }, data: { keyId: 'test' } })
  await loseWorker(broken)
  await settle(domain.plane)
})

test('a lost claim with a locked step does not affect the holder’s other claims', async () => {
  const [gone, kept] = [await gitDeployment(ctx), await gitDeployment(ctx)]
  const claims = await domain.plane.claim({ holder: 'slow', max: 1000, leaseSeconds: 60 })
  const of = (id: string) => claims.find((claim) => claim.deployment.id === id)!
  await loseWorker(gone)
  const other = await claimOne(domain.plane, gone)
  const hung = new pg.Client(domain.url)
  await hung.connect()
  onTestFinished(() => hung.end())
  await hung.query('BEGIN')
  await hung.query('SELECT 1 FROM steps WHERE deployment_id = $1 FOR UPDATE', [gone])
  const items = [gone, kept].map((id) => ({ claimId: of(id).claimId, token: of(id).token }))
  const told = await domain.plane.heartbeat({ leaseSeconds: 8, claims: items })
  expect(told.map(({ lost }) => lost)).toEqual([true, false])
  await hung.query('ROLLBACK')
  for (const claimed of [other, ...claims.filter((claim) => claim !== of(gone))]) await domain.plane.release(claimed)
  await settle(domain.plane)
})

test('a listener gets only its own deployments, the built-in worker only those without a listener', async () => {
  const make = (computeId: string) =>
    domain.core.db.listener.create({
      data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId, k8sNamespaces: ['default'] },
    })
  const [mine, other] = [await make('mine'), await make('other')]
  const id = await gitDeployment(ctx)
  await domain.core.db.deployment.update({ where: { id }, data: { listenerId: mine.id } })
  const request = { holder: 'l', max: 10, leaseSeconds: 60 }
  expect(await domain.plane.claim(request)).not.toContainEqual(
    expect.objectContaining({ deployment: expect.objectContaining({ id }) }),
  )
  expect(await claim(domain.core, { listenerId: other.id }, request)).toEqual([])
  expect(await claim(domain.core, { listenerId: mine.id }, request)).toMatchObject([{ deployment: { id } }])
})

test('a deployment and its revisions are deleted thirty days after the teardown; its events stay', async () => {
  const id = await gitDeployment(ctx)
  await domain.core.db
    .$executeRaw`UPDATE deployments SET deleted_at = now(), torn_down_at = now() - interval '29 days' WHERE id = ${id}::uuid`
  await sweep(domain.core)
  expect(await domain.core.db.deployment.count({ where: { id } })).toBe(1)
  await domain.core.db
    .$executeRaw`UPDATE deployments SET torn_down_at = now() - interval '31 days' WHERE id = ${id}::uuid`
  await sweep(domain.core)
  expect(await domain.core.db.deployment.count({ where: { id } })).toBe(0)
  expect(await domain.core.db.event.count({ where: { deploymentId: id } })).toBeGreaterThan(0)
  expect(await domain.core.db.revision.count({ where: { deploymentId: id } })).toBe(0)
})

test('a deployment with very many log lines is deleted in parts, each within the statement’s time limit', async () => {
  const { db } = domain.core
  const id = await gitDeployment(ctx)
  await db.$executeRaw`
    INSERT INTO log_lines (deployment_id, revision_id, type, attempt, message)
    SELECT ${id}::uuid, ${(await latest(id)).id}::uuid, 'deploy', 1, 'said' FROM generate_series(1, 25000)`
  await db.$executeRaw`
    CREATE FUNCTION refuse_many() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF (SELECT count(*) FROM old_rows) > 10000 THEN RAISE 'too many at once'; END IF; RETURN NULL; END $$`
  await db.$executeRaw`
    CREATE TRIGGER refuse_many AFTER DELETE ON log_lines REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_many()`
  await db.$executeRaw`
    UPDATE deployments SET deleted_at = now(), torn_down_at = now() - interval '31 days' WHERE id = ${id}::uuid`
  await createRetention(domain.core)(new AbortController().signal)
  await sweep(domain.core)
  expect(await db.deployment.count({ where: { id } })).toBe(0)
  expect(await db.logLine.count({ where: { deploymentId: id } })).toBe(0)
  await db.$executeRaw`DROP TRIGGER refuse_many ON log_lines`
})

test('a step broken by infrastructure is tried three times in all, and a report of it counts once', async () => {
  const id = await gitDeployment(ctx)
  const claimed = await claimOne(domain.plane, id)
  const { assignment } = await succeed(domain.plane, claimed, claimed.step!)
  const stepId = assignment.step!.id
  const giveBack = (tries: number) =>
    domain.plane.complete({
      claimId: claimed.claimId,
      token: claimed.token,
      stepId,
      outcome: 'stopped',
      tries,
      reason: 'INTERNAL',
      message: 'The database was away.',
    })
  const second = await giveBack(1)
  // the answer was lost
  const again = await giveBack(1)
  expect([second, again].map((answer) => answer.assignment.step)).toMatchObject([
    { id: stepId, tries: 2 },
    { id: stepId, tries: 2 },
  ])
  expect((await giveBack(2)).assignment.step).toMatchObject({ id: stepId, tries: 3 })
  expect(await latest(id)).toMatchObject({ status: 'BUILDING' })
  expect((await giveBack(3)).assignment.step).toBeNull()
  expect(await latest(id)).toMatchObject({
    status: 'BUILD_FAILED',
    reason: 'INTERNAL',
    statusMessage: 'The database was away.',
  })
  await domain.plane.release(claimed)
})
