import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { deleteDeployment, deleteDeployments } from '../../src/domain/deployments/delete.ts'
import { getDeployment, listDeployments } from '../../src/domain/deployments/read.ts'
import { createRevision, updateDeployment } from '../../src/domain/deployments/update.ts'
import { getRevision, listRevisions } from '../../src/domain/revisions/read.ts'
import { interruptRevision } from '../../src/domain/rollouts/interrupt.ts'
import { redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { as, gitBody, gitDeployment, type TestDomain, testDomain } from '../support/domain.ts'

let domain: TestDomain
let ctx: RequestContext
let stranger: RequestContext
let id: string
let path: { deployment_id: string; revision_id: string }
beforeAll(async () => {
  domain = await testDomain()
  ctx = await domain.tenant()
  stranger = await domain.tenant()
  id = await gitDeployment(ctx)
  const { latestRevisionId } = await getDeployment(ctx, { path: { deployment_id: id } })
  path = { deployment_id: id, revision_id: latestRevisionId! }
})
afterAll(() => domain.close())

type Call = (caller: RequestContext) => Promise<unknown>
const writes: [string, Call][] = [
  ['update', (c) => updateDeployment(c, { path, body: {} })],
  ['create a revision', (c) => createRevision(c, { path, body: {} })],
  ['delete', (c) => deleteDeployment(c, { path, query: {} })],
  ['redeploy', (c) => redeployRevision(c, { path })],
  ['interrupt', (c) => interruptRevision(c, { path })],
]
const reads: [string, Call][] = [
  ['get', (c) => getDeployment(c, { path })],
  ['get a revision', (c) => getRevision(c, { path })],
  ['list revisions', (c) => listRevisions(c, { path, query: {} })],
]

describe('Roles', () => {
  test.each([
    ...writes,
    ['create', async (c: RequestContext) => createDeployment(c, { body: await gitBody(ctx) })] as [string, Call],
    ['delete many', (c: RequestContext) => deleteDeployments(c, { query: { deployment_ids: [id] } })] as [string, Call],
  ])('a viewer may not %s', async (_, call) => {
    await expect(call(as(ctx, 'viewer'))).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test.each([...reads, ...writes])('keys of listeners and agents may not %s', async (_, call) => {
    await expect(call(as(ctx, 'listener'))).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(call(as(ctx, 'agent'))).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('a caller without the role gets 403 before its input is checked', async () => {
    await expect(createDeployment(as(ctx, 'viewer'), { body: { nonsense: true } })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })

  test('only an admin may force a deletion', async () => {
    await expect(deleteDeployment(as(ctx, 'deployer'), { path, query: { force: 'true' } })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })
})

describe('Tenants', () => {
  test.each([...reads, ...writes])("%s answers another tenant's id as if it did not exist", async (_, call) => {
    await expect(call(stranger)).rejects.toMatchObject({ code: 'NOT_FOUND', message: `Deployment ID ${id} not found.` })
  })

  test("a list and a bulk deletion leave out another tenant's deployments", async () => {
    expect((await listDeployments(stranger, { query: {} })).resources).toEqual([])
    expect(await deleteDeployments(stranger, { query: { deployment_ids: id } })).toEqual([
      { deploymentId: id, status: 404, detail: `Deployment ID ${id} not found.` },
    ])
    expect((await getDeployment(ctx, { path })).deletedAt).toBeNull()
  })

  test("a deployment can't use another tenant's integration or listener", async () => {
    const body = await gitBody(ctx)
    await expect(createDeployment(stranger, { body })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('Integration ID'),
    })
    const listener = await domain.core.db.listener.create({
      data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId: 'c', k8sNamespaces: ['default'] },
    })
    const image = {
      name: 'x',
      source: 'external_container',
      source_config: { listener_id: listener.id },
      source_revision_config: { image_uri: 'a:1' },
      secrets: [],
    }
    await expect(createDeployment(stranger, { body: image })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `Listener ID ${listener.id} not found.`,
    })
  })
})

describe('Concurrent calls', () => {
  test('of two creates with one name, one succeeds and the other gets 409', async () => {
    const body = await gitBody(ctx, 'same name')
    const outcomes = await Promise.allSettled([createDeployment(ctx, { body }), createDeployment(ctx, { body })])
    expect(outcomes.map((o) => o.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes.find((o) => o.status === 'rejected')).toMatchObject({ reason: { code: 'ALREADY_EXISTS' } })
  })

  test('of two interrupts, one succeeds and the other says that the revision has ended', async () => {
    const other = await gitDeployment(ctx)
    const { latestRevisionId } = await getDeployment(ctx, { path: { deployment_id: other } })
    const both = { path: { deployment_id: other, revision_id: latestRevisionId! } }
    const outcomes = await Promise.allSettled([interruptRevision(ctx, both), interruptRevision(ctx, both)])
    expect(outcomes.map((o) => (o.status === 'fulfilled' ? 'done' : o.reason.code)).sort()).toEqual([
      'CONFLICT',
      'done',
    ])
  })

  test('of two redeploys, one succeeds and the other says that the revision is in progress', async () => {
    const other = await gitDeployment(ctx)
    const { latestRevisionId } = await getDeployment(ctx, { path: { deployment_id: other } })
    const both = { path: { deployment_id: other, revision_id: latestRevisionId! } }
    await interruptRevision(ctx, both)
    const outcomes = await Promise.allSettled([redeployRevision(ctx, both), redeployRevision(ctx, both)])
    expect(outcomes.map((o) => (o.status === 'fulfilled' ? 'done' : o.reason.code)).sort()).toEqual([
      'NOT_REDEPLOYABLE',
      'done',
    ])
  })

  test('two deletes both succeed', async () => {
    const other = { path: { deployment_id: await gitDeployment(ctx) } }
    const outcomes = await Promise.allSettled([deleteDeployment(ctx, other), deleteDeployment(ctx, other)])
    expect(outcomes.map((o) => o.status)).toEqual(['fulfilled', 'fulfilled'])
  })
})
