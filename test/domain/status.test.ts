/** The derived status and `serving` of a deployment, and the filters and counts by them. */
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { conditionOf } from '../../src/domain/deployment-status/condition.ts'
import { healthOf, isServing } from '../../src/domain/deployment-status/serving.ts'
import { deploymentStatus } from '../../src/domain/deployment-status/status.ts'
import { countByStatus, countDeployments } from '../../src/domain/deployments/count.ts'
import { type DeploymentFilter, filterSql } from '../../src/domain/deployments/filter.ts'
import { type DeploymentView, listDeployments } from '../../src/domain/deployments/read.ts'
import { DEPLOYMENT_STATUSES, type DeploymentStatus, deploymentFilter } from '../../src/domain/values/shapes.ts'
import { Prisma } from '../../src/generated/prisma/client.ts'
import { countStatements } from '../support/database.ts'
import { gitDeployment, useDomain, useTenant } from '../support/domain.ts'

const domain = useDomain()
const ctx = useTenant(domain)
/** every combination of the base values, as read */
let rows: DeploymentView[]
beforeAll(async () => {
  await gitDeployment(await domain.tenant())
  rows = await everyCombination()
})

const ago = (ms: number) => new Date(Date.now() - ms)
const healthy = (ready: number) => ({ ready, desired: 2, message: null, observedAt: ago(5000).toISOString() })

async function everyCombination(): Promise<DeploymentView[]> {
  const listeners = await Promise.all(
    [
      { computeId: 'never heard, new', lastSeenAt: null },
      { computeId: 'never heard, old', lastSeenAt: null, createdAt: ago(100_000) },
      { computeId: 'silent', lastSeenAt: ago(100_000) },
      { computeId: 'alive', lastSeenAt: ago(10_000) },
    ].map((data) =>
      domain.core.db.listener.create({
        data: { workspaceId: ctx.workspace.id, computeType: 'k8s', k8sNamespaces: [], ...data },
      }),
    ),
  )
  const first = await gitDeployment(ctx)
  const {
    latestRevision,
    attention: _,
    ...pattern
  } = await domain.core.db.deployment.findUniqueOrThrow({
    where: { id: first },
    include: { latestRevision: true },
  })
  await domain.core.db.deployment.delete({ where: { id: first } })
  const deployments: Prisma.DeploymentCreateManyInput[] = []
  const revisions: Prisma.RevisionCreateManyInput[] = []
  const add = (
    data: Partial<Prisma.DeploymentCreateManyInput>,
    active: boolean,
    status: 'DEPLOYED' | 'BUILD_FAILED' | 'BUILDING' | 'QUEUED',
    reason: string | null = null,
  ) => {
    const [id, revisionId] = [randomUUID(), randomUUID()]
    const own = { id, name: id, addressName: null, latestRevisionId: null, secretSetId: null, idle: false }
    deployments.push({
      ...(pattern as object as Prisma.DeploymentCreateManyInput),
      ...own,
      tracingProjectId: null,
      ...(data.leaseExpiresAt ? { claimId: randomUUID(), leaseHolder: 'somebody' } : {}),
      ...data,
      secretReferences: Prisma.DbNull,
      resourceSpec: Prisma.DbNull,
    })
    const revision = latestRevision as object as Prisma.RevisionCreateManyInput
    revisions.push({ ...revision, id: revisionId, deploymentId: id, status, reason, secretSetId: null })
    if (active) actives.push(id)
  }
  const actives: string[] = []
  for (const listenerId of [null, ...listeners.map((l) => l.id)])
    for (const deletedAt of [null, new Date()]) {
      for (const provisionedAt of [null, new Date()])
        for (const idle of [false, true])
          add(
            {
              listenerId,
              deletedAt,
              provisionedAt,
              idle,
              source: listenerId ? 'external_container' : 'gitprovider',
              health: Prisma.DbNull,
            },
            false,
            'BUILD_FAILED',
          )
      for (const active of [false, true])
        for (const leaseExpiresAt of [null, ago(1000), new Date(Date.now() + 600_000)])
          for (const health of [Prisma.DbNull, healthy(0), healthy(1)])
            add(
              {
                listenerId,
                deletedAt,
                provisionedAt: new Date(),
                leaseExpiresAt,
                health,
                imageVersion: '7',
                deploymentType: 'prod',
              },
              active,
              'DEPLOYED',
            )
    }
  // two of these three wait
  for (const [status, reason] of [
    ['QUEUED', null],
    ['BUILDING', 'WAITING_FOR_TURN'],
    ['BUILDING', null],
  ] as const)
    add({ health: Prisma.DbNull }, false, status, reason)
  await domain.core.db.deployment.createMany({ data: deployments })
  await domain.core.db.revision.createMany({ data: revisions })
  await domain.core.db.$executeRaw`
    UPDATE deployments d SET latest_revision_id = r.id, active_revision_id = CASE WHEN d.id = ANY (${actives}::uuid[]) THEN r.id END
    FROM revisions r WHERE r.deployment_id = d.id AND d.workspace_id = ${ctx.workspace.id}::uuid`
  return listAll({})
}

/** Reads all pages. */
async function listAll(query: Record<string, unknown>): Promise<DeploymentView[]> {
  const all: DeploymentView[] = []
  for (let offset = 0; ; ) {
    const page = await listDeployments(ctx, { query: { ...query, limit: '100', offset: String(offset) } })
    all.push(...page.resources)
    if (page.resources.length < 100) return all
    offset = page.offset
  }
}
const idsOf = (deployments: readonly { id: string }[]) => deployments.map(({ id }) => id).sort()

test('the shown status and the status filter agree in every state of a deployment', async () => {
  const now = new Date()
  for (const status of DEPLOYMENT_STATUSES) {
    const expected = rows.filter((row) => deploymentStatus(row, now) === status)
    expect(expected.length, status).toBeGreaterThan(0)
    expect(idsOf(await listAll({ status })), status).toEqual(idsOf(expected))
  }
})

test('`serving` is true only while a holder reports the active revision as ready, and the filter agrees', async () => {
  const now = new Date()
  const serving = rows.filter((row) => isServing(row, now))
  expect(serving.length).toBe(3) // without a listener, with a new one, and with one that calls
  expect(idsOf(await listAll({ serving: 'true' }))).toEqual(idsOf(serving))
  expect(idsOf(await listAll({ serving: 'false' }))).toEqual(idsOf(rows.filter((row) => !isServing(row, now))))
})

test('a deployment that should serve but does not has a health, a sentence and a reason', () => {
  const now = new Date()
  for (const row of rows) {
    const [condition, health] = [conditionOf(row, now), healthOf(row, now)]
    if (row.deletedAt) {
      expect([condition, health]).toEqual([expect.objectContaining({ reason: 'IN_PROGRESS' }), null])
      continue
    }
    expect(health).toMatchObject({ ready: expect.any(Number), desired: expect.any(Number) })
    if (isServing(row, now)) {
      expect(condition).toBeNull()
      expect(health).toMatchObject({ ready: 1, desired: 2, message: null, reason: null })
    } else {
      expect(condition).toMatchObject({ reason: expect.any(String), message: expect.stringMatching(/^[A-Z0-9].*\.$/) })
      expect(health).toMatchObject({ reason: expect.any(String), message: expect.any(String) })
    }
  }
  const told = new Set(rows.flatMap((row) => conditionOf(row, now)?.message ?? []))
  expect([...told].sort()).toEqual([
    '0 of 2 replicas are ready; nothing serves.',
    'Deleting: its agent ends, then its data are removed.',
    'Its listener is silent, so it is unknown whether it serves.',
    'Its listener is silent, so it is unknown whether it serves; the last report says that 0 of 2 replicas are ready.',
    'Its listener is silent, so it is unknown whether it serves; the last report says that 1 of 2 replicas are ready.',
    'Its worker has not reported yet whether the active revision serves.',
    'No worker reports on it at the moment, so it is unknown whether it serves.',
    'No worker reports on it at the moment, so it is unknown whether it serves; the last report says that 0 of 2 replicas are ready.',
    'No worker reports on it at the moment, so it is unknown whether it serves; the last report says that 1 of 2 replicas are ready.',
    'Revision 1 could not be built; nothing serves.',
    'Revision 1 is being built; nothing serves yet.',
    'Revision 1 is queued; nothing serves yet.',
    'Revision 1 was deployed; nothing serves.',
  ])
})

test('one statement counts all groups, and the counts match the lists', async () => {
  const now = new Date()
  let counts: Awaited<ReturnType<typeof countByStatus>> | undefined
  const statements = await countStatements(domain.database, async () => {
    counts = await countByStatus(ctx, {})
  })
  expect(statements).toHaveLength(1)
  const tally = <V>(of: (row: DeploymentView) => V) => {
    const seen = new Map<V, number>()
    for (const row of rows) seen.set(of(row), (seen.get(of(row)) ?? 0) + 1)
    return seen
  }
  const asMap = <V>(list: readonly { value: V; count: number }[]) =>
    new Map(list.map(({ value, count }) => [value, count]))
  expect(counts!.total).toBe(rows.length)
  expect(counts!.serving).toBe(tally((row) => isServing(row, now)).get(true))
  expect(asMap(counts!.statuses)).toEqual(tally((row): DeploymentStatus => deploymentStatus(row, now)))
  expect(asMap(counts!.latestRevisionStatuses)).toEqual(tally((row) => row.latestRevision!.status))
  expect(counts).toMatchObject({ waiting: 3, latestRevisionWaits: 2 })
  expect(asMap(counts!.sources)).toEqual(tally((row) => row.source))
  expect(asMap(counts!.listeners)).toEqual(tally((row) => row.listenerId))
})

test('lists and counts apply every filter in the same way', async () => {
  const tag = await domain.core.db.tag.create({ data: { workspaceId: ctx.workspace.id, key: 'team', value: 'a' } })
  await domain.core.db.deploymentTag.create({ data: { tagId: tag.id, deploymentId: rows[3]!.id } })
  const filters: Required<DeploymentFilter> = {
    name: rows[1]!.name,
    name_contains: 'A%',
    status: 'READY',
    serving: false,
    latest_revision_status: ['BUILD_FAILED', 'SKIPPED'],
    latest_revision_waits: true,
    source: 'external_container',
    listener_id: rows.find((row) => row.listenerId)!.listenerId!,
    remote_reconciled: false,
    tag_value_ids: [tag.id],
    image_version: '7',
    deployment_type: 'dev',
    deployment_ids: [rows[5]!.id, rows[9]!.id, randomUUID()],
  }
  expect(Object.keys(filters).sort()).toEqual(Object.keys(deploymentFilter).sort())
  for (const [name, value] of Object.entries(filters)) {
    const filter = { [name]: value } as DeploymentFilter
    const { count: listed } = await countDeployments(ctx, filter)
    expect((await countByStatus(ctx, filter)).total, name).toBe(listed)
    if (name !== 'name_contains') expect(listed, name).toBeGreaterThan(0)
    expect(listed, name).toBeLessThan(rows.length)
  }
  const all = { ...filters, name: undefined, name_contains: undefined, tag_value_ids: undefined } as never
  expect((await countByStatus(ctx, all)).total).toBe((await countDeployments(ctx, all)).count)
  expect(filterSql(ctx, {}).sql).toContain('workspace_id')
})
