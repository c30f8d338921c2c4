// Images on the process runtime, with a stand-in for podman; TEST_CONTAINER_ENGINE=podman (or docker) uses the real
// one.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { NO_REGISTRY } from '../../src/dataplane/builder/image-store.ts'
import type { ProcessRuntimeOptions } from '../../src/dataplane/process/machine/machine.ts'
import type { LeasedClaim } from '../../src/dataplane/runtimes/runtime.ts'
import type { RevisionWork } from '../../src/domain/protocol/protocol.ts'
import { imageOf, REAL, type TestEngine, testEngine } from '../support/engine/engine.ts'
import { testRegistry } from '../support/engine/registry.ts'
import { commandLines } from '../support/processes.ts'
import { imageRevision } from '../support/revision-work.ts'
import {
  claimOf,
  eventually,
  killSupervisor,
  memoryLog,
  NO_SOURCES,
  never,
  openTestMachine,
  runOf,
  stepOf,
  type TestMachine,
} from './support.ts'

// a busy engine is slow
vi.setConfig({ testTimeout: 240_000 })

const SERVER = fileURLToPath(new URL('./container-server.ts', import.meta.url))
let folder: string
let engine: TestEngine
let machine: TestMachine
const places: TestMachine[] = []

beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-engine-'))
  engine = await testEngine(folder)
  machine = await open()
}, 120_000)
afterAll(async () => {
  await Promise.all(places.map((each) => each.close()))
  engine.close()
  fs.rmSync(folder, { recursive: true, force: true })
})

async function open(changes: Partial<ProcessRuntimeOptions> = {}): Promise<TestMachine> {
  const opened = await openTestMachine({ containerEngine: engine.name, engineEnvironment: engine.env, ...changes })
  places.push(opened)
  return opened
}

const ONE = 'localhost/pilothouse-test:one'
const TWO = 'localhost/pilothouse-test:two'

async function deploy(claim: LeasedClaim, revision: RevisionWork, log = memoryLog(), { runtime } = machine) {
  const candidate = await runtime.deploy(claim, stepOf('DEPLOY', revision), log, never)
  await candidate.commit(async () => true)
  return candidate
}
const teardown = (claim: LeasedClaim, { runtime } = machine) => runtime.teardown(claim, stepOf('TEARDOWN', null), never)
const text = async (url: string) => (await fetch(url)).text()
const mine = (claim: LeasedClaim) => engine.containers(`pilothouse.deployment=${claim.deployment.id}`)
const notes = ({ options }: TestMachine, claim: LeasedClaim) => {
  const folder = path.join(options.dataDir, 'apps', claim.deployment.id, 'containers')
  return fs.existsSync(folder) ? fs.readdirSync(folder) : []
}

test('an image answers at its deployment’s URL, and its tag is the version', async () => {
  const claim = claimOf()
  const { url, imageVersion } = await deploy(claim, imageRevision(ONE))
  expect(await text(url)).toBe('one')
  expect(imageVersion).toBe('one')
  expect(mine(claim)).toHaveLength(1)
  expect(machine.runtime.health(claim.deployment.id)).toMatchObject({ ready: 1, desired: 1, message: null })
  await teardown(claim)
  expect(mine(claim)).toEqual([])
  expect(notes(machine, claim)).toEqual([])
})

test('secrets reach the container, even with several lines, and are in no argument, log or file', async () => {
  const claim = claimOf()
  const log = memoryLog()
  const secrets = [
    { name: 'TOKEN', value: `"quoted" # ${randomUUID()} =x` },
    { name: 'KEY', value: `first ${randomUUID()}\nsecond ${randomUUID()}\n` },
    { name: 'LONG', value: 'a1b2'.repeat(16_000) },
    { name: 'EMPTY', value: '' },
  ]
  const { url } = await deploy(claim, imageRevision(ONE, { secrets }), log)
  const env = JSON.parse(await text(`${url}/env`))
  for (const { name, value } of secrets) expect(env[name], name).toBe(value)
  expect(env.DATABASE_URI).toMatch(/^postgres/)
  expect(env.PILOTHOUSE_DEPLOYMENT_ID).toBe(claim.deployment.id)
  await log.seen(/up with/)
  const parts = secrets.flatMap(({ value }) => value.split('\n')).filter(Boolean)
  const said = `${commandLines().join('\n')}\n${log.lines.join('\n')}`
  expect(parts.filter((part) => said.includes(part))).toEqual([])
  expect(notes(machine, claim).filter((name) => name.endsWith('.env'))).toEqual([])
  await teardown(claim)
})

test('a multi-line secret whose name the engine itself reads is refused', async () => {
  const secrets = [{ name: 'LD_PRELOAD', value: '/tmp/x\n' }]
  await expect(deploy(claimOf(), imageRevision(ONE, { secrets }))).rejects.toThrow(
    'The secret LD_PRELOAD has line breaks',
  )
})

test.skipIf(!REAL)('CPU and memory of an image are of the processes in its container', async () => {
  const claim = claimOf()
  const { url } = await deploy(claim, imageRevision(ONE))
  const measured = async () => {
    const all = await machine.runtime.measure!()
    return all.find(({ deploymentId }) => deploymentId === claim.deployment.id)!.measures
  }
  const { memory } = await measured()
  // a Node.js process
  expect(memory).toBeGreaterThan(20e6)
  for (let i = 0; i < 300; i++) await text(url)
  expect((await measured()).cpu_seconds).toBeGreaterThan(0)
  await teardown(claim)
})

test('a new image replaces the old one, which is removed', async () => {
  const claim = claimOf()
  const first = await deploy(claim, imageRevision(ONE))
  const second = await deploy(claim, imageRevision(TWO))
  expect(second.url).toBe(first.url)
  expect(await text(second.url)).toBe('two')
  expect(await eventually(() => mine(claim).length === 1)).toBe(true)
  await teardown(claim)
})

test('a container that crashes is started again', async () => {
  const claim = claimOf()
  const log = memoryLog()
  const { url } = await deploy(claim, imageRevision(ONE), log)
  await fetch(`${url}/crash`).catch(() => undefined)
  await log.seen(/The agent exited with code 7; restart 1/)
  expect(await eventually(async () => (await fetch(url)).status === 200)).toBe(true)
  expect(mine(claim)).toHaveLength(1)
  await teardown(claim)
})

test('a deploy of an image that does not exist fails with a message that says so', async () => {
  await expect(deploy(claimOf(), imageRevision('localhost/pilothouse-none:1'))).rejects.toThrow(
    'There is no image localhost/pilothouse-none:1 on this machine',
  )
  await expect(deploy(claimOf(), imageRevision('127.0.0.1:1/nobody/none:1'))).rejects.toThrow(
    "the registry 127.0.0.1:1 can't be reached",
  )
}, 30_000)

test('a deployment can’t use an image that was built for another one', async () => {
  for (const name of [`${randomUUID()}:built`, `${randomUUID()}@sha256:${'0'.repeat(64)}`])
    await expect(deploy(claimOf(), imageRevision(`localhost/pilothouse/${name}`))).rejects.toMatchObject({
      reason: 'CONFIG_INVALID',
      message: expect.stringContaining('reserved for builds'),
    })
})

test.skipIf(REAL)('a pull uses the deployment’s credentials, and its error is reported', async () => {
  const password = randomUUID()
  const registry = http.createServer((request, response) => {
    const basic = `Basic ${Buffer.from(`robot:${password}`).toString('base64')}`
    const status = request.headers.authorization !== basic ? 401 : request.url!.endsWith('/manifests/one') ? 200 : 404
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(imageOf('one')))
  })
  await once(registry.listen(0, '127.0.0.1'), 'listening')
  const host = `127.0.0.1:${(registry.address() as AddressInfo).port}`
  let given: { username: string; password: string } | null = { username: 'robot', password }
  const other = await open({ sources: { ...NO_SOURCES, imageCredentials: async () => given } })
  const claim = claimOf()
  const log = memoryLog()
  const { url } = await deploy(claim, imageRevision(`${host}/team/agent:one`), log, other)
  expect(await text(url)).toBe('one')
  expect(log.lines.join('\n')).not.toContain(password)
  expect(fs.readdirSync(path.join(other.options.dataDir, 'containers'))).toEqual([])
  await expect(deploy(claimOf(), imageRevision(`${host}/team/agent:none`), memoryLog(), other)).rejects.toThrow(
    `There is no image ${host}/team/agent:none in the registry`,
  )
  given = null
  await expect(deploy(claimOf(), imageRevision(`${host}/team/agent:one`), memoryLog(), other)).rejects.toThrow(
    'denies access. The image is private, or does not exist.',
  )
  registry.close()
})

test('a container keeps running when its server is killed, and the next server takes it over', async () => {
  const own = await open()
  const claim = claimOf()
  const revision = imageRevision(ONE, { secrets: [{ name: 'STUBBORN', value: 'yes' }] })
  const server = spawn(
    process.execPath,
    ['--import', 'tsx', SERVER, ...[own.options, claim, stepOf('DEPLOY', revision)].map((it) => JSON.stringify(it))],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [url] = await once(server.stdout, 'data')
  const before = mine(claim)
  expect(before).toHaveLength(1)
  server.kill('SIGKILL')
  const later = { ...claim, token: '2' }
  own.runtime.ensure(later, runOf(revision), memoryLog())
  expect(await eventually(() => own.runtime.health(claim.deployment.id)?.ready === 1, 20_000)).toBe(true)
  await own.runtime.prune(claim.deployment.id, [])
  expect(mine(claim)).toEqual(before)
  expect(await text(String(url).trim())).toBe('one')
  await teardown(later, own)
  expect(mine(claim)).toEqual([])
}, 60_000)

test('a container whose supervisor is killed is removed before the next one is started', async () => {
  const claim = claimOf()
  const revision = imageRevision(ONE, { secrets: [{ name: 'STUBBORN', value: 'yes' }] })
  const { url } = await deploy(claim, revision)
  await killSupervisor(machine, claim)
  expect(await eventually(() => machine.runtime.health(claim.deployment.id)?.ready === 0)).toBe(true)
  expect(await eventually(() => machine.runtime.health(claim.deployment.id)?.ready === 1, 20_000)).toBe(true)
  expect(mine(claim)).toHaveLength(1)
  expect(await text(url)).toBe('one')
  await teardown(claim)
}, 60_000)

const GRAPHS = '{"graphs": {"agent": "./agent.js:graph"}}'
const dockerfile = (tag: string) =>
  `FROM localhost/pilothouse-test:${tag}\nCOPY told.txt ./\n${REAL ? '' : 'RUN test -s told.txt\n'}`
const fromSource = (repoUrl: string): RevisionWork => ({
  ...imageRevision(''),
  source: 'gitprovider',
  imageUri: null,
  repoUrl,
  repoRef: 'main',
  graphConfigPath: 'graph.json',
})
const build = (claim: LeasedClaim, revision: RevisionWork, { runtime } = machine) =>
  runtime.build(claim, stepOf('BUILD', revision), memoryLog(), never)

test('a repository with a Dockerfile is built and run by the engine, and its image is removed when it is no longer needed', async () => {
  const repository = machine.repository({ 'graph.json': GRAPHS, Dockerfile: dockerfile('one'), 'told.txt': 'one' })
  const claim = claimOf()
  const { id } = claim.deployment
  const first = fromSource(repository.url)
  const { artifact } = await build(claim, first)
  expect(artifact).toMatch(new RegExp(`^image:localhost/pilothouse/${id}@sha256:[0-9a-f]{64}$`))
  const { url, imageVersion } = await deploy(claim, { ...first, artifact })
  expect(await text(url)).toBe('one')
  expect(imageVersion).toBe(artifact.split('@')[1])
  repository.push({ Dockerfile: dockerfile('two') })
  const second = fromSource(repository.url)
  const built = await build(claim, second)
  await deploy(claim, { ...second, artifact: built.artifact })
  expect(await text(url)).toBe('two')
  // a rollback needs no build
  await deploy(claim, { ...first, attempt: 2, artifact })
  expect(await text(url)).toBe('one')
  // the replaced container may still answer pending requests
  const left = async () => {
    await machine.runtime.prune(id, [artifact])
    return engine.imagesOf(id).length
  }
  await expect.poll(left, { timeout: 60_000 }).toBe(1)
  await expect(deploy(claim, { ...second, attempt: 2, artifact: built.artifact })).rejects.toMatchObject({
    reason: 'ARTIFACT_LOST',
    artifactLost: true,
  })
  await teardown(claim)
  expect(engine.imagesOf(id)).toEqual([])
}, 120_000)

test('a redeploy rebuilds an image that is gone from the registry', async () => {
  const registry = await testRegistry()
  const host = registry.host
  const sources = {
    ...NO_SOURCES,
    imageCredentials: async () => ({ username: 'token', password: 'any', insecure: true }),
  }
  const other = await open({ sources })
  const artifact = `image:${host}/team/agent@sha256:${'0'.repeat(64)}`
  await expect(
    deploy(claimOf(), { ...fromSource('file:///none'), artifact }, memoryLog(), other),
  ).rejects.toMatchObject({
    reason: 'ARTIFACT_LOST',
    artifactLost: true,
  })
  registry.close()
})

test('a Dockerfile build without an engine fails immediately and names the setting', async () => {
  const none = await open({ images: { engine: 'none', store: NO_REGISTRY, freeDiskMb: 0 } })
  const repository = none.repository({ 'graph.json': GRAPHS, Dockerfile: dockerfile('one'), 'told.txt': 'one' })
  await expect(build(claimOf(), fromSource(repository.url), none)).rejects.toMatchObject({
    reason: 'NO_BUILDER',
    message: expect.stringMatching(/BUILDER is none.*"dockerfile": false in "graph.json"/),
  })
})

test.each(['external_container', 'internal_container'] as const)(
  'the message of a deploy without a working engine says how to run an %s',
  async (source) => {
    const none = await open({ containerEngine: 'auto', engineEnvironment: { PATH: '/nowhere' } })
    await expect(deploy(claimOf(), imageRevision(ONE, { source }), memoryLog(), none)).rejects.toThrow(
      /No container engine works on this machine \(podman is not installed; docker is not installed\).*install podman or docker.*listener/,
    )
    const off = await open({ containerEngine: 'none' })
    await expect(deploy(claimOf(), imageRevision(ONE, { source }), memoryLog(), off)).rejects.toThrow(
      'CONTAINER_ENGINE is none',
    )
  },
)
