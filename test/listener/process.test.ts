// The listener as a process: SIGTERM, kill -9, its output, and a health port in use.
import { once } from 'node:events'
import net from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { eventually } from '../dataplane/support.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { openTestCluster, type TestCluster } from '../support/kubernetes/cluster.ts'
import { type Running, run } from '../support/process.ts'
import { deploymentOn, registered } from './support.ts'

vi.setConfig({ testTimeout: 60_000 })

let app: TestApp
let cluster: TestCluster
let namespace: string
let listener: { listenerId: string; key: string }
const running: Running[] = []
beforeAll(async () => {
  app = await testApp({ settings: { RUNTIME: 'none', SWEEP_SECONDS: '1' } })
  cluster = await openTestCluster()
  namespace = await cluster.createNamespace()
})
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})
afterAll(async () => {
  await app.close()
  await cluster.close()
})

async function start(env: Record<string, string> = {}): Promise<Running & { health: string }> {
  const started = run('cli', ['listener'], {
    CONTROL_PLANE_URL: app.url,
    CONTROL_PLANE_API_KEY: listener.key,
    LISTENER_ID: listener.listenerId,
    KUBECONFIG: cluster.kubeconfig,
    LISTENER_HOST: '127.0.0.1',
    LISTENER_PORT: '0',
    LOG_LEVEL: 'debug',
    ...env,
  })
  running.push(started)
  const port = await eventually(() => /"healthPort":(\d+)/.exec(started.output.stdout)?.[1], 30_000)
  if (!port) throw new Error(`the listener did not start:\n${started.output.stdout}\n${started.output.stderr}`)
  return { ...started, health: `http://127.0.0.1:${port}` }
}

const row = (id: string) =>
  app.app.core.db.deployment.findUniqueOrThrow({ where: { id }, include: { latestRevision: true } })
const deployment = (overrides: object = {}) =>
  deploymentOn(app, listener.listenerId, {
    source_config: { listener_id: listener.listenerId, listener_config: { k8s_namespace: namespace } },
    ...overrides,
  })
const heldBy = ({ child }: Running, id: string) =>
  eventually(async () => (await row(id)).leaseHolder?.includes(`:${child.pid}:`) ?? false, 20_000)

/** Newer versions of Node print warnings about packages. */
const withoutWarnings = (stderr: string) => stderr.replaceAll(/^\(node:\d+\) \[DEP.*\n|^\(Use `node .*\n/gm, '')

test('a listener releases its claims on SIGTERM and exits with 0, and its output has no secret', async () => {
  listener = await registered(app, namespace)
  const one = await start({ LEASE_SECONDS: '600' })
  const secrets = [{ name: 'TOKEN', value: 'canary-of-the-secret' }]
  const made = await deployment({ secrets })
  expect(await heldBy(one, made.id)).toBe(true)
  expect((await fetch(`${one.health}/healthz`)).status).toBe(200)
  expect(await eventually(async () => (await fetch(`${one.health}/readyz`)).status === 200)).toBe(true)
  expect(await eventually(async () => (await row(made.id)).latestRevision!.status === 'DEPLOYED', 30_000)).toBe(true)

  const signalled = performance.now()
  one.child.kill('SIGTERM')
  const ended = await one.ended
  expect(ended).toMatchObject({ code: 0, signal: null })
  expect(withoutWarnings(ended.stderr)).toBe('')
  expect(performance.now() - signalled).toBeLessThan(10_000)
  expect(await row(made.id)).toMatchObject({ leaseHolder: null, leaseExpiresAt: null })
  const lines = one.output.stdout.trim().split('\n')
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ level: expect.any(String) })
  for (const secret of ['canary-of-the-secret', listener.key]) expect(one.output.stdout).not.toContain(secret)
})

test('another listener gets a killed listener’s claims when their lease expires', async () => {
  listener = await registered(app, namespace)
  const one = await start({ LEASE_SECONDS: '5' })
  const made = await deployment()
  expect(await heldBy(one, made.id)).toBe(true)
  one.child.kill('SIGKILL')
  await one.ended
  const other = await start({ LEASE_SECONDS: '5' })
  expect(await heldBy(other, made.id)).toBe(true)
  expect(await eventually(async () => (await row(made.id)).latestRevision!.status === 'DEPLOYED', 30_000)).toBe(true)
})

test('a listener that never reached the control plane exits on SIGTERM', async () => {
  listener = await registered(app, namespace)
  const one = await start({ CONTROL_PLANE_URL: 'http://127.0.0.1:9' })
  expect(await eventually(() => one.output.stdout.includes("can't be reached"))).toBe(true)
  one.child.kill('SIGTERM')
  const ended = await one.ended
  expect(ended.code).toBe(0)
  expect(withoutWarnings(ended.stderr)).toBe('')
})

test('a health port in use is reported in one line', async () => {
  listener = await registered(app, namespace)
  const other = net.createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as net.AddressInfo
  const env = {
    CONTROL_PLANE_URL: app.url,
    CONTROL_PLANE_API_KEY: listener.key,
    LISTENER_ID: listener.listenerId,
    KUBECONFIG: cluster.kubeconfig,
    LISTENER_HOST: '127.0.0.1',
    LISTENER_PORT: String(port),
  }
  const { code, stderr } = await run('cli', ['listener'], env).ended
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `Port ${port} of 127.0.0.1 is in use: stop what uses it, or set LISTENER_PORT.\n`,
  })
  other.close()
})
