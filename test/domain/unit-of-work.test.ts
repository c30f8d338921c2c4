/**
 * Tests the unit of work: recorded changes are sent in one statement, and before any read
 * (domain/transaction/unit-of-work.ts).
 */
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { deployment as answer } from '../../src/api/rest/responses/deployment.ts'
import { encode } from '../../src/api/rest/responses/response-schema.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { type DeploymentView, getDeployment } from '../../src/domain/deployments/read.ts'
import { readWritten } from '../../src/domain/deployments/read-after-write.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { edit, notifyHolder } from '../../src/domain/repositories/deployment.ts'
import { lockedAggregate } from '../../src/domain/repositories/locked-aggregate.ts'
import { type LockedDeployment, lockDeployment } from '../../src/domain/repositories/locks.ts'
import { transition } from '../../src/domain/revisions/transition.ts'
import { closeStep, openStep } from '../../src/domain/rollouts/steps.ts'
import { type RequestContext, type Tx, transaction } from '../../src/domain/transaction/context.ts'
import { countStatements } from '../support/database.ts'
import { crossedWrites } from '../support/deadlock.ts'
import { as, gitBody, gitDeployment, useDomain, useTenant } from '../support/domain.ts'

const domain = useDomain()
const ctx = useTenant(domain)
let id: string
beforeAll(async () => {
  id = await gitDeployment(ctx)
})

const statements = (work: () => Promise<unknown>) => countStatements(domain.database, work)
const stored = () => ctx.db.deployment.findUniqueOrThrow({ where: { id }, include: { latestRevision: true } })
const locked = <T>(work: (tx: Tx, deployment: LockedDeployment) => Promise<T>) => lockDeployment(ctx, id, work)
const CHANGE = { what: 'UPDATED', actor: { kind: 'system', id: null, name: null } } as const
const NAME = {
  name: 'url of a deployment',
  text: 'SELECT custom_url AS url, generation FROM deployments WHERE id = $1::uuid',
}

test('several changes of one row are sent as one statement', async () => {
  const before = await stored()
  const sent = await statements(() =>
    locked(async (tx, deployment) => {
      const once = edit(tx, deployment, CHANGE, { customUrl: 'https://one.example.com' })
      const twice = notifyHolder(tx, notifyHolder(tx, edit(tx, once, CHANGE, { customUrl: 'https://two.example.com' })))
      expect(twice).toMatchObject({ customUrl: 'https://two.example.com', generation: before.generation + 2 })
      expect(deployment.customUrl).toBeNull()
    }),
  )
  // the lock and the update
  expect(sent).toHaveLength(2)
  // an update that sets an index's column makes that index grow faster
  expect(sent[1]).toMatch(/UPDATE deployments t SET \((?!.*\b(id|workspace_id|name|created_at),).*generation/)
  const { customUrl, generation, editVersion, name, latestRevisionId } = await stored()
  expect({ customUrl, generation, editVersion }).toEqual({
    customUrl: 'https://two.example.com',
    generation: before.generation + 2,
    editVersion: before.editVersion + 2,
  })
  expect({ name, latestRevisionId }).toEqual({ name: before.name, latestRevisionId: before.latestRevisionId })
})

test('a transaction without changes sends no write', async () => {
  expect(await statements(() => locked(async () => {}))).toHaveLength(1)
  expect(await statements(() => transaction(ctx, async () => {}))).toEqual([])
})

test('reads in the transaction see recorded changes, with Prisma and with SQL', async () => {
  await locked(async (tx, deployment) => {
    const first = edit(tx, deployment, CHANGE, { customUrl: 'https://three.example.com' })
    expect(await tx.query(NAME, [id])).toMatchObject([{ url: 'https://three.example.com' }])
    edit(tx, first, CHANGE, { customUrl: 'https://four.example.com' })
    expect(await tx.sql.deployment.findUnique({ where: { id } })).toMatchObject({
      customUrl: 'https://four.example.com',
    })
    await tx.sql.$executeRaw`UPDATE deployments SET custom_url = 'https://five.example.com' WHERE id = ${id}::uuid`
    expect(await tx.query(NAME, [id])).toMatchObject([{ url: 'https://five.example.com' }])
  })
  expect((await stored()).customUrl).toBe('https://five.example.com')
})

test('the locked aggregate is read once, and again after a Prisma call', async () => {
  const sent = await statements(() =>
    locked(async (tx, deployment) => {
      const [revision] = (await lockedAggregate(tx, deployment)).revisions
      transition(tx, deployment.workspaceId, revision!, { to: 'INTERRUPTED' })
      expect((await lockedAggregate(tx, deployment)).revisions).toMatchObject([{ status: 'INTERRUPTED' }])
      await tx.sql.$executeRaw`UPDATE revisions SET artifact = 'made elsewhere' WHERE id = ${revision!.id}::uuid`
      expect((await lockedAggregate(tx, deployment)).revisions).toMatchObject([{ artifact: 'made elsewhere' }])
      throw new Error('undone')
    }).catch(() => {}),
  )
  // lock, read, recorded change, UPDATE by SQL, second read
  expect(sent).toHaveLength(5)
  expect((await stored()).latestRevision).toMatchObject({ status: 'CREATING', artifact: null })
})

test('a read after the lock sees commits that happened during the wait for the lock', async () => {
  const other = await gitDeployment(ctx)
  const isWaiting = async () =>
    (
      await ctx.db.$queryRaw<
        unknown[]
      >`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
    ).length > 0
  const { waiting } = await ctx.db.$transaction(async (sql) => {
    await sql.$queryRaw`SELECT 1 FROM deployments WHERE id = ${other}::uuid FOR UPDATE`
    const look = async (tx: Tx, deployment: LockedDeployment) => ({
      deployment,
      facts: await lockedAggregate(tx, deployment),
    })
    const waiting = lockDeployment(ctx, other, look, {})
    await expect.poll(isWaiting).toBe(true)
    await sql.deployment.update({ where: { id: other }, data: { customUrl: 'https://meanwhile.example.com' } })
    await sql.revision.updateMany({ where: { deploymentId: other }, data: { status: 'QUEUED' } })
    return { waiting }
  })
  expect(await waiting).toMatchObject({
    deployment: { customUrl: 'https://meanwhile.example.com' },
    facts: { revisions: [{ status: 'QUEUED' }] },
  })
})

test('if another transaction moved the revision first, nothing is written', async () => {
  const before = await stored()
  const stale = { ...before.latestRevision!, status: 'QUEUED' as const }
  const moved = locked(async (tx, deployment) => {
    edit(tx, deployment, CHANGE, { customUrl: 'https://never.example.com' })
    transition(tx, deployment.workspaceId, stale, { to: 'AWAITING_BUILD' })
  })
  await expect(moved).rejects.toThrow('The revision is no longer QUEUED.')
  expect(await stored()).toEqual(before)
})

test('two transitions of one revision store the last status and emit two events', async () => {
  const other = await gitDeployment(ctx)
  const from = await ctx.db.event.count({ where: { deploymentId: other } })
  await lockDeployment(ctx, other, async (tx, deployment) => {
    const { revisions } = await lockedAggregate(tx, deployment)
    const queued = transition(tx, deployment.workspaceId, revisions[0]!, { to: 'QUEUED' })
    const moved = transition(tx, deployment.workspaceId, queued, { to: 'AWAITING_BUILD' })
    // a transition from an outdated status fails
    expect(() => transition(tx, deployment.workspaceId, queued, { to: 'SKIPPED' })).toThrow('no longer QUEUED')
    expect(moved.status).toBe('AWAITING_BUILD')
  })
  const events = await ctx.db.event.findMany({
    where: { deploymentId: other },
    orderBy: { sequence: 'asc' },
    skip: from,
  })
  expect(events.map(({ toStatus }) => toStatus)).toEqual(['QUEUED', 'AWAITING_BUILD'])
  expect((await ctx.db.revision.findFirstOrThrow({ where: { deploymentId: other } })).status).toBe('AWAITING_BUILD')
})

test('one statement closes a step and opens the next', async () => {
  await locked(async (tx, deployment) => {
    const [step] = (await lockedAggregate(tx, deployment)).steps
    closeStep(tx, deployment.workspaceId, step!, { outcome: 'cancelled' })
    openStep(tx, id, 'PROVISION', null, 0)
    expect((await lockedAggregate(tx, deployment)).steps).toHaveLength(2)
  })
  const steps = await ctx.db.step.findMany({ where: { deploymentId: id }, orderBy: { createdAt: 'asc' } })
  expect(steps.map(({ outcome }) => outcome)).toEqual(['cancelled', null])
})

test('a retried transaction begins without recorded changes', async () => {
  const tries: (string | null)[] = []
  await locked(async (tx, deployment) => {
    tries.push(deployment.k8sNamespace)
    if (tries.length === 1) {
      edit(tx, deployment, CHANGE, { buildCommand: 'of the first try' })
      await tx.unit.flush()
      throw Object.assign(new Error('deadlock detected'), { severity: 'ERROR', code: '40P01' })
    }
    edit(tx, deployment, CHANGE, { customUrl: 'https://again.example.com' })
  })
  expect(tries).toHaveLength(2)
  expect(await stored()).toMatchObject({ buildCommand: null, customUrl: 'https://again.example.com' })
})

test('a failed statement prevents the commit even if its error is ignored', async () => {
  const before = await stored()
  const careless = locked(async (tx, deployment) => {
    edit(tx, deployment, CHANGE, { customUrl: 'https://careless.example.com' })
    await tx.query({ name: 'one by zero', text: 'SELECT 1 / $1::int' }, [0]).catch(() => {})
  })
  await expect(careless).rejects.toThrow('had failed')
  expect(await stored()).toEqual(before)
})

test('an existing tracing project of the same name is used, without a created event', async () => {
  const name = `kept-${randomUUID().slice(0, 8)}`
  const kept = await ctx.db.tracingProject.create({ data: { workspaceId: ctx.workspace.id, name } })
  const { deploymentId } = await createDeployment(ctx, { body: await gitBody(ctx, name) })
  expect((await ctx.db.deployment.findUniqueOrThrow({ where: { id: deploymentId } })).tracingProjectId).toBe(kept.id)
  expect(await ctx.db.event.count({ where: { type: 'tracing_project.created', subjectId: kept.id } })).toBe(0)
})

test('the answer of a write equals a read right after it', async () => {
  const image = {
    name: `image-${randomUUID().slice(0, 8)}`,
    source: 'external_container',
    source_config: {},
    source_revision_config: { image_uri: 'registry.example.com/agent:1' },
    secrets: [],
  }
  const made = await createDeployment(ctx, { body: image }, readWritten)
  const text = (own: RequestContext, view: DeploymentView) => JSON.stringify(encode(answer, view, own))
  const read = async (own: RequestContext, of: string) =>
    text(own, await getDeployment(own, { path: { deployment_id: of } }))
  expect(text(ctx, made.deployment)).toBe(await read(ctx, made.deployment.id))
  const ofGit = { source_revision_config: { repo_ref: 'next' } }
  const ofImage = { secret_references: [{ name: 'A', secret_name: 'zz', secret_key: 'b' }] }
  const ofAll = [{ source_config: { resource_spec: { max_scale: 3, min_scale: 2 } } }, {}]
  const secrets = { secrets: [{ name: 'TOKEN', value: 'väluе\n\u0001' }] }
  for (const own of [ctx, as(ctx, 'deployer')])
    for (const [deployment_id, body] of [
      [id, ofGit],
      [made.deployment.id, ofImage],
      ...[...ofAll, secrets].flatMap((body) => [id, made.deployment.id].map((of) => [of, body] as const)),
    ] as const) {
      const path = { deployment_id }
      const { deployment } = await updateDeployment(own, { path, body }, readWritten)
      expect(text(own, deployment)).toBe(await read(own, deployment_id))
    }
})

test('when two writes deadlock, the one that Postgres aborts is retried and both succeed', async () => {
  const [a, b] = [await gitDeployment(ctx), await gitDeployment(ctx)]
  const crossed = crossedWrites()
  const write = (first: string, second: string) =>
    transaction(domain.core, async ({ sql }) => {
      await crossed.change(sql, first, second)
      return first
    })
  expect(await Promise.all([write(a, b), write(b, a)])).toEqual([a, b])
  expect(crossed.tries).toBe(3)
})
