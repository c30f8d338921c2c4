/**
 * Builders as separate processes: a server without an engine leaves builds to them and rolls out the images they
 * push. With a stand-in for podman and a registry that checks tokens.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { newKey, type TestApp, testApp } from '../support/app.ts'
import { collectorHere } from '../support/collector.ts'
import { BASE } from '../support/engine/engine.ts'
import { type ImagePlace, openImagePlace } from '../support/engine/image-place.ts'
import { gitBody } from '../support/factories.ts'
import { Follower } from '../support/follower.ts'
import { processes } from '../support/processes.ts'
import { tarball } from '../support/tarball.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { type Builder, isKnown, startBuilder, WITHIN } from './builder-process.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

let fixture: ImagePlace
let app: TestApp
let key: string
let collector: Awaited<ReturnType<typeof collectorHere>>
const running: Builder[] = []
const followers: Follower[] = []
beforeAll(async () => {
  ;[fixture, collector] = await Promise.all([openImagePlace(), collectorHere()])
  // a server that is not killed keeps its leases, however busy the machine is
  app = await testApp({
    settings: { ...fixture.settings, ...collector.settings, WORKER: 'on', BUILDER: 'none', LEASE_SECONDS: '60' },
  })
  key = await newKey(app.app.core, { ...app.tenant, role: 'builder' })
})
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    await ended
  }
  await Promise.all(followers.splice(0).map((follower) => follower.close()))
})
afterAll(async () => {
  await app?.close()
  await Promise.all([fixture?.close(), collector?.close()])
})

/** `name`: the builder's display name. */
async function builder(name: string, env: Record<string, string> = {}): Promise<Builder & { dataDir: string }> {
  const dataDir = path.join(fixture.root, `builder-${randomUUID()}`)
  const started = await startBuilder({
    ...fixture.engine.env,
    CONTROL_PLANE_URL: app.url,
    CONTROL_PLANE_API_KEY: key,
    BUILDER: fixture.engine.name,
    BUILDER_NAME: name,
    MAX_BUILDS: '1',
    GIT_DIRECTORY: path.join(fixture.root, 'git'),
    DATA_DIR: dataDir,
    ...collector.settings,
    ...env,
  })
  running.push(started)
  return { ...started, dataDir }
}

/** A deployment of the repository at `url`. */
async function deploy(url: string, secrets: object[] = []) {
  const body = gitBody(app.tenant, {
    source_config: { repo_url: url, resource_spec: { queue_min_scale: 0, queue_max_scale: 0 } },
    secrets,
  })
  const answer = await app.rest('POST', '/v2/deployments', { body })
  expect(answer.status).toBe(201)
  return watch(answer.body)
}

/** The first revision of a deployment with a source. */
function watch({ id, latest_revision_id: revisionId }: { id: string; latest_revision_id: string }) {
  const follower = new Follower(() => [app.url], app.keys.admin, id)
  followers.push(follower)
  const base = `/v2/deployments/${id}/revisions/${revisionId}`
  return {
    id,
    /** how the process ended */
    async ended() {
      const { to, message } = await follower.until(
        (event) => event.revision.id === revisionId && /FAILED|DEPLOYED|INTERRUPTED/.test(event.to),
      )
      return [to, message]
    },
    interrupt: () => app.rest('POST', `${base}/interrupt`),
    status: async () => (await app.rest('GET', base)).body,
    async log() {
      const { body } = await app.rest('GET', `${base}/logs?type=build&limit=1000`)
      return (body.logs as { message: string }[]).map(({ message }) => message)
    },
    digests: () => new Set(Object.values(fixture.registry.tags(`${app.tenant.workspaceId}/${id}`))),
    image: () => fixture.imageInPods(id),
  }
}

/** A build command that prints that it has started, and then runs until the file `free` exists. */
function endless() {
  const name = randomUUID()
  // unique among this machine's processes
  const seconds = 1_000_000 + Math.floor(Math.random() * 1_000_000_000)
  const [begun, free] = [path.join(fixture.root, `begun-${name}`), path.join(fixture.root, `free-${name}`)]
  return {
    name,
    command: `test -e ${free} || { touch ${begun}; exec sleep ${seconds}; }`,
    begins: () => expect.poll(() => existsSync(begun), WITHIN).toBe(true),
    release: () => writeFileSync(free, ''),
    processes: () => processes(`sleep ${seconds}`),
  }
}

const foldersOf = ({ dataDir }: { dataDir: string }) => readdirSync(path.join(dataDir, 'images/builds'))

test('a push is deployed with exactly the image that a builder made, its log hides the secret, and the builder keeps nothing', async () => {
  const one = await builder('build-1')
  await isKnown(one)
  const canary = `canary-${randomUUID()}`
  const url = fixture.push(
    `echo the value is "$(cat /run/secrets/pilothouse_environment)" && echo built > told`,
    randomUUID(),
  )
  const made = await deploy(url, [{ name: 'TOKEN', value: canary }])
  expect(await made.ended()).toEqual(['DEPLOYED', null])
  expect(made.digests().size).toBe(1)
  const repository = `${fixture.registry.host}/${app.tenant.workspaceId}/${made.id}`
  expect(await made.image()).toBe(`${repository}@${[...made.digests()][0]}`)
  const log = await made.log()
  expect(log.join('\n')).toContain('Build plan: an image from "Dockerfile"')
  expect(log.some((line) => line.startsWith('the value is'))).toBe(true)
  expect(log.join('\n')).not.toContain(canary)
  expect(fixture.engine.imagesOf(made.id)).toEqual([])
  expect(foldersOf(one)).toEqual([])
  const { trace_id } = await made.status()
  await expect
    .poll(() => collector.below(trace_id, 'build'), WITHIN)
    .toEqual(expect.arrayContaining(['wait for a builder', 'load the source', 'build the image', 'push the image']))
  const { hostname, port } = new URL(`http://${fixture.registry.host}`)
  expect(collector.calls(trace_id).find(({ name }) => name === 'push the image')?.attributes).toEqual({
    'server.address': hostname,
    'server.port': Number(port),
  })

  one.child.kill('SIGTERM')
  expect((await one.ended).code).toBe(0)
  for (const secret of [canary, key]) expect(one.output.stdout + one.output.stderr).not.toContain(secret)
})

test('a builder also builds an uploaded tarball', async () => {
  await isKnown(await builder('build-1'))
  const body = {
    name: `tarball-${randomUUID()}`,
    source: 'internal_source',
    source_config: { resource_spec: { queue_min_scale: 0, queue_max_scale: 0 } },
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [],
  }
  const { id } = (await app.rest('POST', '/v2/deployments', { body })).body
  const { upload_url, object_path } = (await app.rest('POST', `/v2/deployments/${id}/upload-url`)).body
  const bytes = tarball(
    { name: 'graph.json', body: '{"graphs": {"agent": "./agent.js:graph"}}' },
    { name: 'Dockerfile', body: `FROM ${BASE}\nCOPY graph.json ./\nCMD ["sh"]\n` },
  )
  expect((await fetch(upload_url, { method: 'PUT', body: new Uint8Array(bytes) })).ok).toBe(true)
  const patched = await app.rest('PATCH', `/v2/deployments/${id}`, {
    body: { source_revision_config: { source_tarball_path: object_path } },
  })
  const made = watch(patched.body)
  expect(await made.ended()).toEqual(['DEPLOYED', null])
  expect(made.digests().size).toBe(1)
})

test('another builder takes over the build of a killed one: one image, one revision, and no process of the first', async () => {
  const work = endless()
  const first = await builder('build-1')
  await isKnown(first)
  const made = await deploy(fixture.push(work.command, work.name))
  await work.begins()
  first.child.kill('SIGKILL')
  await first.ended
  work.release()
  await builder('build-2')
  expect(await made.ended()).toEqual(['DEPLOYED', null])
  expect(made.digests().size).toBe(1)
  const { body } = await app.rest('GET', `/v2/deployments/${made.id}/revisions`)
  expect(body.resources ?? body).toHaveLength(1)
  await expect.poll(work.processes, WITHIN).toEqual([])
})

test('an interrupt ends the build on its builder, which then takes the next one', async () => {
  const work = endless()
  const one = await builder('build-1')
  await isKnown(one)
  const made = await deploy(fixture.push(work.command, work.name))
  await work.begins()
  await expect.poll(async () => (await made.status()).status_message, WITHIN).toContain('build-1')
  expect((await made.interrupt()).status).toBeLessThan(300)
  expect((await made.ended())[0]).toBe('INTERRUPTED')
  await expect.poll(work.processes, WITHIN).toEqual([])
  await expect.poll(() => foldersOf(one), WITHIN).toEqual([])
  expect(made.digests().size).toBe(0)
  const next = await deploy(fixture.push('echo next > told', randomUUID()))
  expect(await next.ended()).toEqual(['DEPLOYED', null])
})

test('SIGTERM makes a builder end and release its build and exit with code 0', async () => {
  const work = endless()
  const first = await builder('build-1', { LEASE_SECONDS: '60' })
  await isKnown(first)
  const made = await deploy(fixture.push(work.command, work.name))
  await work.begins()
  work.release()
  const second = await builder('build-2')
  await isKnown(second)
  first.child.kill('SIGTERM')
  expect(await first.ended).toMatchObject({ code: 0, signal: null })
  await expect.poll(work.processes, WITHIN).toEqual([])
  expect(await made.ended()).toEqual(['DEPLOYED', null])
  expect(made.digests().size).toBe(1)
})

test('a builder that loses the control plane ends its build before the lease expires, and continues when it is back', async () => {
  const work = endless()
  const proxy = await tcpProxy(app.url)
  try {
    const one = await builder('build-1', { CONTROL_PLANE_URL: proxy.url })
    await isKnown(one)
    const made = await deploy(fixture.push(work.command, work.name))
    await work.begins()
    work.release()
    proxy.goSilent()
    await expect.poll(work.processes, WITHIN).toEqual([])
    await expect.poll(one.problem, WITHIN).toEqual(expect.stringMatching(/can't be reached|did not answer/))
    proxy.heal()
    expect(await made.ended()).toEqual(['DEPLOYED', null])
    expect(made.digests().size).toBe(1)
  } finally {
    proxy.close()
  }
})

test('a builder without an engine takes no builds and reports why', async () => {
  const one = await builder('build-1', { PATH: path.join(fixture.root, 'nothing') })
  await expect.poll(one.problem, WITHIN).toEqual(expect.stringMatching(/podman is not installed/))
  one.child.kill('SIGTERM')
  expect((await one.ended).code).toBe(0)
})
