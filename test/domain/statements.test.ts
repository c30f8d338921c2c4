/** What each hot verb asks of Postgres, as exact numbers: a change that adds a statement has to say so here. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RequestContext } from '../../src/domain/context.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { getDeployment, listDeployments } from '../../src/domain/deployments/read.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { interruptRevision } from '../../src/domain/revisions/interrupt.ts'
import { listRevisions } from '../../src/domain/revisions/read.ts'
import { redeployRevision } from '../../src/domain/revisions/redeploy.ts'
import { countStatements } from '../support/database.ts'
import { gitBody, type TestDomain, testDomain } from '../support/domain.ts'
import { claimOne, workOff } from '../support/holder.ts'

let domain: TestDomain
let ctx: RequestContext
beforeAll(async () => {
  domain = await testDomain()
  ctx = await domain.tenant()
})
afterAll(() => domain.close())

const count = async (work: () => Promise<unknown>) => (await countStatements(domain.database, work)).length

test('reads are one or two statements each, writes a handful, a quiet heartbeat one for all claims', async () => {
  const body = await gitBody(ctx)
  let id = ''
  const counted: Record<string, number> = {}
  counted.create = await count(async () => {
    id = await createDeployment(ctx, { body })
  })
  const path = { deployment_id: id }
  counted.patch = await count(() =>
    updateDeployment(ctx, { path, body: { source_revision_config: { repo_ref: 'next' } } }),
  )
  counted.get = await count(() => getDeployment(ctx, { path }))
  counted.list = await count(() => listDeployments(ctx, { query: { limit: '100' } }))
  counted.revisions = await count(() => listRevisions(ctx, { path, query: {} }))
  const { latestRevisionId } = await getDeployment(ctx, { path })
  const revision = { path: { ...path, revision_id: latestRevisionId! } }
  counted.interrupt = await count(() => interruptRevision(ctx, revision))
  counted.redeploy = await count(() => redeployRevision(ctx, revision))
  expect(counted).toEqual({ create: 17, patch: 15, get: 1, list: 2, revisions: 1, interrupt: 12, redeploy: 13 })

  const claim = await claimOne(domain.plane, id)
  await workOff(domain.plane, claim)
  const held = { claimId: claim.claimId, token: claim.token }
  const [news] = await domain.plane.heartbeat({ leaseSeconds: 60, claims: [held] })
  const quiet = { ...held, generation: news!.assignment!.generation }
  expect(await count(() => domain.plane.heartbeat({ leaseSeconds: 60, claims: [quiet] }))).toBe(1)
  expect(await count(() => domain.plane.claim({ holder: 'idle', max: 100, leaseSeconds: 60 }))).toBe(1)
})
