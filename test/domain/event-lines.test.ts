/** Tests the server's log: one line per event of a deployment. */
import { beforeAll, expect, test } from 'vitest'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { lineOf } from '../../src/domain/outbox/event-lines.ts'
import { gitBody, useDomain } from '../support/domain.ts'
import { claimOne, workOff } from '../support/holder.ts'

interface Line {
  level: string
  message: string
  fields: Record<string, unknown>
}

const domain = useDomain()
const lines: Line[] = []
beforeAll(async () => {
  const keep = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } })
  }
  domain.core.log = { info: keep('info'), warn: keep('warn'), error: keep('error') }
})

test('the log shows by name how a deployment goes live and is deleted', async () => {
  const ctx = await domain.tenant()
  const body = await gitBody(ctx, 'my-agent')
  const { deploymentId: id } = await createDeployment(ctx, { body })
  await workOff(domain.plane, await claimOne(domain.plane, id))
  await deleteDeployment(ctx, { path: { deployment_id: id } })
  const told = lines.filter(({ fields }) => fields.deploymentId === id)
  expect(told.map(({ message }) => message.replace(/\d+\.\d s/, 'N s'))).toEqual([
    'my-agent: deployment created',
    'my-agent #1 CREATING',
    'my-agent: deployment provisioned',
    'my-agent #1 BUILDING',
    'my-agent #1 DEPLOYING',
    'my-agent #1 DEPLOYED in N s',
    'my-agent: deployment deleted',
  ])
  expect(told.every(({ level }) => level === 'info')).toBe(true)
})

test('a failure is a warning with its duration and the first line of its message', () => {
  const failed = { workspaceId: 'w', type: 'revision.status', deploymentId: 'd', revisionId: 'r' }
  const message = 'npm ci failed with exit code 1.\nnpm error missing: left-pad'
  expect(
    lineOf({
      ...failed,
      to: 'BUILD_FAILED',
      reason: 'INSTALL_FAILED',
      message,
      traceId: null,
      name: 'my-agent',
      number: 3,
      seconds: 4.24,
    }),
  ).toBe('my-agent #3 BUILD_FAILED after 4.2 s: npm ci failed with exit code 1.')
})
