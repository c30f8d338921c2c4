import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RequestContext } from '../../src/domain/context.ts'
import { listDeployments } from '../../src/domain/deployments/read.ts'
import { DEPLOYMENT_STATUSES, type DeploymentStatus } from '../../src/domain/deployments/schemas.ts'
import { deploymentStatus } from '../../src/domain/deployments/status.ts'
import { gitDeployment, type TestDomain, testDomain } from '../support/domain.ts'

let domain: TestDomain
let ctx: RequestContext
beforeAll(async () => {
  domain = await testDomain()
  ctx = await domain.tenant()
})
afterAll(() => domain.close())

test('the status that is shown and the status that is filtered by agree, whatever a deployment has been through', async () => {
  const ago = (ms: number) => new Date(Date.now() - ms)
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
  const seen = new Set<DeploymentStatus>()
  const expected: Record<string, string[]> = Object.fromEntries(DEPLOYMENT_STATUSES.map((s) => [s, []]))
  for (const listenerId of [null, ...listeners.map((l) => l.id)])
    for (const deletedAt of [null, new Date()])
      for (const provisionedAt of [null, new Date()])
        for (const idle of [false, true]) {
          const id = await gitDeployment(ctx)
          const row = await domain.core.db.deployment.update({
            where: { id },
            data: { listenerId, deletedAt, provisionedAt, idle },
            include: { listener: true },
          })
          const status = deploymentStatus(row, new Date())
          seen.add(status)
          expected[status]!.push(id)
        }
  expect([...seen].sort()).toEqual([...DEPLOYMENT_STATUSES].sort())
  for (const status of DEPLOYMENT_STATUSES) {
    const { resources } = await listDeployments(ctx, { query: { status, limit: '100' } })
    expect(resources.map((d) => d.id).sort(), status).toEqual(expected[status]!.sort())
  }
})
