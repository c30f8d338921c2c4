// Worker, process runtime and real control plane together, from creating a deployment to deleting it.
import pino from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startWorker, type Worker } from '../../src/dataplane/worker/worker.ts'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { deleteDeployment } from '../../src/domain/deployments/delete.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { readAccessCopy } from '../../src/domain/keys/access-copy.ts'
import { interruptRevision, redeployRevision } from '../../src/domain/rollouts/redeploy.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { gitBody, type TestDomain, testDomain } from '../support/domain.ts'
import { ALL_PUBLIC, eventually, NO_SOURCES, openTestMachine, type TestMachine } from './support.ts'

let machine: TestMachine
let domain: TestDomain
let worker: Worker
let ctx: RequestContext
let broken: Error | null = null
beforeAll(async () => {
  domain = await testDomain()
  const gitCredentials = async () => {
    const error = broken
    broken = null
    if (error) throw error
    return null
  }
  const access = { ...ALL_PUBLIC, read: (known: string | null) => readAccessCopy(domain.core, known) }
  machine = await openTestMachine({ adminUrl: domain.url, access, sources: { ...NO_SOURCES, gitCredentials } })
  const controlPlane = localControlPlane(domain.core)
  worker = await startWorker({
    controlPlane,
    runtime: machine.runtime,
    leaseSeconds: 15,
    log: pino({ level: 'silent' }),
  })
  ctx = await domain.tenant()
})
afterAll(async () => {
  await worker.stop()
  await machine.close()
  await domain.close()
})

const SLOW = JSON.stringify({ name: 'agent', type: 'module', scripts: { start: 'sleep 2 && node server.mjs' } })
const read = (id: string) => ctx.db.deployment.findUniqueOrThrow({ where: { id }, include: { latestRevision: true } })
const status = async (id: string) => (await read(id)).latestRevision!.status
const reaches = (id: string, wanted: string) => eventually(async () => (await status(id)) === wanted, 40_000)

test('a deployment can be created, changed, rolled back, given other secrets and deleted', async () => {
  const repository = machine.repository()
  const body = await gitBody(ctx)
  body.source_config.repo_url = repository.url
  const { deploymentId: id } = await createDeployment(ctx, { body: { ...body, access: 'public' } })
  expect(await reaches(id, 'DEPLOYED')).toBe(true)
  const first = await read(id)
  expect(first.latestRevision!.repoCommitSha).toBe(repository.head())
  const url = first.customUrl!
  const text = async () => (await fetch(url)).text()
  expect(await text()).toBe('Hello from version 1\n')

  repository.push({ 'greeting.txt': 'Hello from version 2\n' })
  await updateDeployment(ctx, { path: { deployment_id: id }, body: { source_revision_config: { repo_ref: 'main' } } })
  expect(await reaches(id, 'DEPLOYED')).toBe(true)
  expect(await text()).toBe('Hello from version 2\n')

  await redeployRevision(ctx, { path: { deployment_id: id, revision_id: first.latestRevisionId! } })
  expect(await eventually(async () => (await read(id)).activeRevisionId === first.latestRevisionId)).toBe(true)
  expect(await text()).toBe('Hello from version 1\n')

  // changing secrets keeps the rolled-back build and builds nothing
  const secrets = [{ name: 'GREETING_TOKEN', value: 'rotated' }]
  const rotated = await updateDeployment(ctx, { path: { deployment_id: id }, body: { secrets } })
  expect(await eventually(async () => (await read(id)).activeRevisionId === rotated.revisionId)).toBe(true)
  expect(await text()).toBe('Hello from version 1\n')
  expect(await ctx.db.step.count({ where: { revisionId: rotated.revisionId, kind: 'BUILD' } })).toBe(0)

  await deleteDeployment(ctx, { path: { deployment_id: id } })
  expect(await eventually(async () => (await read(id)).tornDownAt !== null)).toBe(true)
  await expect(fetch(url)).rejects.toThrow()
})

test('a worker whose clock is 11 minutes ahead of the database’s deploys like any other', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 11 * 60_000 })
  try {
    const repository = machine.repository()
    // longer than an already expired limit would allow
    repository.push({ 'package.json': SLOW })
    const body = await gitBody(ctx)
    body.source_config.repo_url = repository.url
    const { deploymentId: id } = await createDeployment(ctx, { body })
    await eventually(async () => /DEPLOY/.test(await status(id)) && !/ING$/.test(await status(id)), 20_000)
    expect((await read(id)).latestRevision).toMatchObject({ status: 'DEPLOYED', statusMessage: null })
  } finally {
    vi.useRealTimers()
  }
})

test('an interrupted build is followed by the next one', async () => {
  const repository = machine.repository()
  const body = await gitBody(ctx)
  Object.assign(body.source_config, { repo_url: repository.url, install_command: 'sleep 100' })
  const { deploymentId: id } = await createDeployment(ctx, { body })
  expect(await reaches(id, 'BUILDING')).toBe(true)
  const { latestRevisionId } = await read(id)
  await interruptRevision(ctx, { path: { deployment_id: id, revision_id: latestRevisionId! } })
  expect(await reaches(id, 'INTERRUPTED')).toBe(true)
  const change = { source_config: { install_command: 'true' }, source_revision_config: { repo_ref: 'main' } }
  await updateDeployment(ctx, { path: { deployment_id: id }, body: change })
  expect(await reaches(id, 'DEPLOYED')).toBe(true)
})

test('a short database outage at the start of a build fails no revision', async () => {
  const repository = machine.repository()
  const body = await gitBody(ctx)
  body.source_config.repo_url = repository.url
  broken = Object.assign(new Error('terminating connection'), { code: 'P2039' })
  const { deploymentId: id } = await createDeployment(ctx, { body })
  expect(await reaches(id, 'DEPLOYED')).toBe(true)
  const lines = await ctx.db.logLine.findMany({ where: { deploymentId: id, level: 'warning' } })
  expect(lines.map(({ message }) => message)).toEqual([
    "BUILD failed unexpectedly (P2039): the server's log has the cause.",
  ])
  await deleteDeployment(ctx, { path: { deployment_id: id } })
  expect(await eventually(async () => (await read(id)).tornDownAt !== null)).toBe(true)
})
