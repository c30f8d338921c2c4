// Images built from sources and pushed, with a stand-in for podman; TEST_CONTAINER_ENGINE=podman uses the real one.
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeBuildFolder } from '../../src/dataplane/builder/build-folder.ts'
import { removeImages } from '../../src/dataplane/builder/local-images.ts'
import type { SourceBuilderOptions } from '../../src/dataplane/builder/source-builder.ts'
import { EMPTY_MASK } from '../../src/dataplane/output/mask.ts'
import type { Engine } from '../../src/dataplane/process/engine/engine.ts'
import { claimOf, memoryLog, never } from '../dataplane/support.ts'
import { BASE, REAL, testEngine } from '../support/engine/engine.ts'
import { type ImageBuilderFixture, NO_LEFTOVERS, openImageBuilder } from './image-builder.ts'
import { whenCancelled, whenKilled } from './interrupted-builds.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let fixture: ImageBuilderFixture
beforeAll(async () => {
  fixture = await openImageBuilder(testEngine)
})
afterAll(() => fixture?.close())

const open = (changes?: Partial<SourceBuilderOptions>) => fixture.open(changes)
const build = (files: Record<string, string>, revision?: object) => fixture.step(files, revision)

const digestOf = (artifact: string) => artifact.split('@')[1]!

test('a repository with a Dockerfile becomes an image in the registry with a digest, and no layer contains the build’s secret', async () => {
  const claim = claimOf()
  const canary = `canary-${randomUUID()}`
  const step = build(
    {
      Dockerfile: `FROM ${BASE}\nCOPY graph.json ./\nRUN --mount=type=secret,id=TOKEN test "$(cat /run/secrets/TOKEN)" = ${canary.slice(0, 6)}"${canary.slice(6)}" && cat /run/secrets/TOKEN && echo said > told\nCMD ["sh"]\n`,
    },
    { secrets: [{ name: 'TOKEN', value: canary }] },
  )
  const log = memoryLog()
  const { artifact } = await open().build(claim, step, log, never)
  expect(artifact).toMatch(/^image:127\.0\.0\.1:\d+\/.+@sha256:[0-9a-f]{64}$/)
  expect(Object.values(await fixture.registry.tags(claim.deployment.id))).toEqual([digestOf(artifact)])
  expect(fixture.registry.holds(canary)).toBe(false)
  expect(log.lines[0]).toContain('Build plan: an image from "Dockerfile"')
  expect(log.lines[1]).toMatch(/Fetching/)
  expect(log.lines.join('\n')).not.toContain(canary)
  expect(fixture.leftovers()).toEqual(NO_LEFTOVERS)
})

test('a Node repository becomes an image by a generated Dockerfile', async () => {
  const claim = claimOf()
  const manifest = JSON.stringify({ name: 'agent', version: '1.0.0', scripts: { start: 'node server.js' } })
  const step = build(
    { 'package.json': manifest, 'server.js': '', '.dockerignore': '*' },
    { installCommand: 'test -f server.js' },
  )
  const { artifact } = await open().build(claim, step, memoryLog(), never)
  expect(Object.values(await fixture.registry.tags(claim.deployment.id))).toEqual([digestOf(artifact)])
})

test.skipIf(REAL)(
  'an old podman that calls an engine elsewhere ends the build with the version that it needs',
  async () => {
    const env = { ...fixture.engine.env, CONTAINER_HOST: 'tcp://127.0.0.1:1' }
    const building = open({ env }).build(claimOf(), build({ Dockerfile: `FROM ${BASE}\n` }), memoryLog(), never)
    await expect(building).rejects.toMatchObject({ reason: 'TOOL_MISSING', message: expect.stringContaining('4.6') })
    expect(fixture.leftovers()).toEqual(NO_LEFTOVERS)
  },
)

test('a build that is cancelled in any phase leaves no process, no working container and no tag', () =>
  whenCancelled(fixture))

test('the next start removes everything that builds of a killed server left, from any phase', () => whenKilled(fixture))

test('images that are no longer needed are removed from registry and engine, the others stay', async () => {
  const claim = claimOf()
  const { id } = claim.deployment
  const builds = open()
  const made: string[] = []
  for (const name of ['one', 'two', 'three'])
    made.push(
      (await builds.build(claim, build({ Dockerfile: `FROM ${BASE}\nRUN echo ${name} > told\n` }), memoryLog(), never))
        .artifact,
    )
  await builds.prune(id, made.slice(1))
  expect(new Set(Object.values(await fixture.registry.tags(id)))).toEqual(new Set(made.slice(1).map(digestOf)))
  const before = fixture.registry.requests()
  await builds.prune(id, made.slice(1))
  expect(fixture.registry.requests()).toBe(before)
  await builds.remove(id)
  expect(await fixture.registry.tags(id)).toEqual({})
  expect(fixture.engine.imagesOf(id)).toEqual([])
})

test('a half-written image of a killed build does not prevent the removal of other images', async () => {
  const claim = claimOf()
  const { id } = claim.deployment
  const builds = open()
  const source = (name: string) => build({ Dockerfile: `FROM ${BASE}\nRUN echo ${name} > told\n` })
  await builds.build(claim, source('half'), memoryLog(), never)
  fixture.engine.halfWrite(/[0-9a-f]{64}/.exec(fixture.engine.imagesOf(id)[0]!)![0])
  await builds.build(claim, source('whole'), memoryLog(), never)
  await builds.remove(id)
  expect(fixture.engine.imagesOf(id)).toEqual([])
})

test('an image that a build is still writing is not removed as a leftover', async () => {
  const claim = claimOf()
  const { id } = claim.deployment
  await open().build(claim, build({ Dockerfile: `FROM ${BASE}\nRUN echo slow > told\n` }), memoryLog(), never)
  const { name, env, imagesOf, halfWrite } = fixture.engine
  const [image] = /[0-9a-f]{64}/.exec(imagesOf(id)[0]!)!
  let write: (() => void) | null = halfWrite(image)
  const run: Engine['run'] = async (args, onLine) => {
    const { status, stdout, stderr } = spawnSync(name, args, { env, encoding: 'utf8' })
    for (const line of `${stdout}${stderr}`.split('\n')) onLine(EMPTY_MASK(line), line, null)
    // time when it was first seen
    write?.()
    write = null
    return { code: status, signal: null }
  }
  const engine = { name, env, storage: '', supports: { cpu: true, memory: true, processes: true }, run }
  await removeImages(engine, id, { ids: [image], digests: [] }, never)
  expect(imagesOf(id)[0]).toContain(image)
})

test('the message of a failed build starts with the cause, followed by the engine’s output, and the build leaves nothing', async () => {
  const claim = claimOf()
  const step = build({ Dockerfile: `FROM ${BASE}\nRUN echo broken on purpose; exit 3\n` })
  await expect(open().build(claim, step, memoryLog(), never)).rejects.toMatchObject({
    reason: 'BUILD_COMMAND_FAILED',
    message: expect.stringMatching(
      /^The image could not be built: building at STEP "RUN .* exit 3": .*exit status 3\.\n(.|\n)*broken on purpose/,
    ),
  })
  expect(fixture.leftovers()).toEqual(NO_LEFTOVERS)
})

test('a build without an engine or a registry fails immediately and names the setting', async () => {
  const step = build({ Dockerfile: `FROM ${BASE}\n` })
  const fails = (changes: Partial<SourceBuilderOptions>) => open(changes).build(claimOf(), step, memoryLog(), never)
  await expect(fails({ engine: 'none' })).rejects.toMatchObject({
    reason: 'NO_BUILDER',
    message: expect.stringMatching(/BUILDER.*run a builder/),
    // this machine can run an image that a builder elsewhere pushes
    elsewhere: true,
  })
  const none = { engine: 'auto' as const, env: { PATH: '/nowhere' } }
  await expect(fails(none)).rejects.toThrow(/podman is not installed; docker is not installed.*BUILDER/)
  const store = { repository: async () => null, prune: async () => undefined }
  await expect(fails({ store })).rejects.toMatchObject({
    reason: 'NO_BUILDER',
    message: expect.stringMatching(/^REGISTRY_URL/),
    elsewhere: false,
  })
  await expect(fails({ store, engine: 'none' })).rejects.toMatchObject({ reason: 'NO_BUILDER', elsewhere: false })
})

test('the next start removes secrets that a killed server left, even if no engine works any more', async () => {
  const dataDir = path.join(fixture.root, 'killed')
  const own = makeBuildFolder(path.join(dataDir, 'images/builds'))
  // the name of a process that no longer exists
  const [machine] = path.basename(own).split('.')
  const abandoned = path.join(path.dirname(own), `${machine}.4999999.0.${randomUUID()}`)
  fs.renameSync(own, abandoned)
  fs.mkdirSync(path.join(abandoned, 'secrets'))
  open({ dataDir, engine: 'none', warn: () => undefined })
  await expect.poll(() => fs.readdirSync(abandoned), { timeout: 60_000 }).toEqual(['tmp'])
})

test('a registry that removes images slowly does not delay a step: the next prune continues', async () => {
  const claim = claimOf()
  const ends: unknown[] = []
  const store = {
    ...fixture.registry.store,
    prune: (_id: string, _keep: string[], signal: AbortSignal) =>
      new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(ends.push(signal.reason)))),
  }
  const builds = open({ store, pruneTimeoutMs: 100 })
  const { artifact } = await builds.build(claim, build({ Dockerfile: `FROM ${BASE}\n` }), memoryLog(), never)
  await expect(builds.prune(claim.deployment.id, [artifact])).rejects.toBeDefined()
  expect(ends).toMatchObject([{ name: 'TimeoutError' }])
})

test('a build ends before it fills the disk', async () => {
  const step = build({ Dockerfile: `FROM ${BASE}\n` })
  const building = open({ freeDiskMb: 1e9 }).build(claimOf(), step, memoryLog(), never)
  await expect(building).rejects.toMatchObject({
    reason: 'NO_SPACE',
    message: expect.stringMatching(/BUILD_FREE_DISK_MB/),
  })
})
