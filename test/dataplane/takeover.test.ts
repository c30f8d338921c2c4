// A server killed by kill -9: the next server continues its work, and serving agents are not disturbed.
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { gitBody, type TestDomain, testDomain } from '../support/domain.ts'
import { eventually, openTestMachine, PID_SERVER, type TestMachine } from './support.ts'

let place: TestMachine
let domain: TestDomain
let ctx: RequestContext
const servers: ChildProcess[] = []
beforeAll(async () => {
  domain = await testDomain()
  domain.core.keyring = new KeyRing([['test', Buffer.alloc(32, 1)]])
  place = await openTestMachine({ adminUrl: domain.url })
  ctx = await domain.tenant()
})
afterEach(() => {
  for (const server of servers.splice(0)) server.kill('SIGKILL')
})
afterAll(async () => {
  await place.close()
  await domain.close()
})

function startServer(): ChildProcess {
  const script = fileURLToPath(new URL('worker-process.ts', import.meta.url))
  const server = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(place.options)], {
    stdio: 'inherit',
  })
  servers.push(server)
  return server
}

const read = (id: string) => ctx.db.deployment.findUniqueOrThrow({ where: { id }, include: { latestRevision: true } })
const reaches = (id: string, status: string) =>
  eventually(async () => (await read(id)).latestRevision!.status === status, 40_000)

test('the next server builds again when a server is killed during a build', async () => {
  const body = await gitBody(ctx)
  Object.assign(body.source_config, { repo_url: place.repository().url, install_command: 'echo building; sleep 1' })
  const first = startServer()
  const { deploymentId: id } = await createDeployment(ctx, { body })
  expect(await reaches(id, 'BUILDING')).toBe(true)
  first.kill('SIGKILL')
  startServer()
  expect(await reaches(id, 'DEPLOYED')).toBe(true)
  const steps = await ctx.db.step.findMany({ where: { deploymentId: id, kind: 'BUILD' } })
  expect(steps.map(({ tries, outcome }) => [tries, outcome])).toEqual([[2, 'succeeded']])
})

test('agents keep running when their server is killed, and the next server takes them over', async () => {
  const body = await gitBody(ctx)
  body.source_config.repo_url = place.repository({ 'server.mjs': PID_SERVER }).url
  const first = startServer()
  const { deploymentId: id } = await createDeployment(ctx, { body })
  expect(await reaches(id, 'DEPLOYED')).toBe(true)
  const url = (await read(id)).customUrl!
  const ask = () =>
    fetch(url).then(
      async (response) => (response.ok ? Number(await response.text()) : 0),
      () => 0,
    )
  const before = await ask()
  const answers = new Set<number>()
  let over = false
  const asking = (async () => {
    while (!over) answers.add(await ask())
  })()
  first.kill('SIGKILL')
  const second = startServer()
  const isHeldBy = async ({ pid }: ChildProcess) => (await read(id)).leaseHolder?.split(':')[1] === String(pid)
  expect(await eventually(() => isHeldBy(second), 30_000)).toBe(true)
  second.kill('SIGKILL')
  expect(await ask()).toBe(before)
  over = true
  await asking
  expect([...answers]).toEqual([before])
})
