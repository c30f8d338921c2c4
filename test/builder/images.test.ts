// Images that are built from sources and pushed, with a stand-in for podman; TEST_CONTAINER_ENGINE=podman takes the real one.
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeBuildFolder } from '../../src/dataplane/builder/build-folder.ts'
import { removeImages } from '../../src/dataplane/builder/local-images.ts'
import type { SourceBuilderOptions } from '../../src/dataplane/builder/source-builder.ts'
import { EMPTY_MASK } from '../../src/dataplane/output/mask.ts'
import type { Engine } from '../../src/dataplane/runtimes/process/engine/engine.ts'
import { claimOf, memoryLog, never } from '../dataplane/support.ts'
import { BASE, testEngine } from '../support/engine/engine.ts'
import { type ImageBuilderFixture, NO_LEFTOVERS, openImageBuilder } from './image-builder.ts'
import { whenCancelled, whenKilled } from './interrupted-builds.ts'

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let place: ImageBuilderFixture
beforeAll(async () => {
  place = await openImageBuilder(testEngine)
})
afterAll(() => place?.close())

const open = (changes?: Partial<SourceBuilderOptions>) => place.open(changes)
const build = (files: Record<string, string>, revision?: object) => place.step(files, revision)

const digestOf = (artifact: string) => artifact.split('@')[1]!

test('a repository with a Dockerfile becomes an image in the registry, known by its digest, and no layer has the secret that its build needed', async () => {
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
  expect(Object.values(await place.registry.tags(claim.deployment.id))).toEqual([digestOf(artifact)])
  expect(place.registry.holds(canary)).toBe(false)
  expect(log.lines[0]).toContain('Build plan: an image from "Dockerfile"')
  expect(log.lines[1]).toMatch(/Fetching/)
  expect(log.lines.join('\n')).not.toContain(canary)
  expect(place.leftovers()).toEqual(NO_LEFTOVERS)
})

test('a Node repository becomes one by a Dockerfile of ours', async () => {
  const claim = claimOf()
  const manifest = JSON.stringify({ name: 'agent', version: '1.0.0', scripts: { start: 'node server.js' } })
  const step = build(
    { 'package.json': manifest, 'server.js': '', '.dockerignore': '*' },
    { installCommand: 'test -f server.js' },
  )
  const { artifact } = await open().build(claim, step, memoryLog(), never)
  expect(Object.values(await place.registry.tags(claim.deployment.id))).toEqual([digestOf(artifact)])
})

test('a build that is cancelled leaves no process, no working container and no tag, whatever it was at', () =>
  whenCancelled(place))

test('of a server that is killed while it builds nothing is left by the next start, whatever its builds were at', () =>
  whenKilled(place))

test('what is kept no more goes from the registry and from the engine, and what is kept stays', async () => {
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
  expect(new Set(Object.values(await place.registry.tags(id)))).toEqual(new Set(made.slice(1).map(digestOf)))
  const before = place.registry.requests()
  await builds.prune(id, made.slice(1))
  expect(place.registry.requests()).toBe(before)
  await builds.remove(id)
  expect(await place.registry.tags(id)).toEqual({})
  expect(place.engine.imagesOf(id)).toEqual([])
})

test('an image that a killed build has left half written keeps no others of its deployment from being removed', async () => {
  const claim = claimOf()
  const { id } = claim.deployment
  const builds = open()
  const source = (name: string) => build({ Dockerfile: `FROM ${BASE}\nRUN echo ${name} > told\n` })
  await builds.build(claim, source('half'), memoryLog(), never)
  place.engine.halfWrite(/[0-9a-f]{64}/.exec(place.engine.imagesOf(id)[0]!)![0])
  await builds.build(claim, source('whole'), memoryLog(), never)
  await builds.remove(id)
  expect(place.engine.imagesOf(id)).toEqual([])
})

test('an image that a build is still writing is not taken for one that a killed build has left', async () => {
  const claim = claimOf()
  const { id } = claim.deployment
  await open().build(claim, build({ Dockerfile: `FROM ${BASE}\nRUN echo slow > told\n` }), memoryLog(), never)
  const { name, env, imagesOf, halfWrite } = place.engine
  const [image] = /[0-9a-f]{64}/.exec(imagesOf(id)[0]!)!
  let write: (() => void) | null = halfWrite(image)
  const run: Engine['run'] = async (args, onLine) => {
    const { status, stdout, stderr } = spawnSync(name, args, { env, encoding: 'utf8' })
    for (const line of `${stdout}${stderr}`.split('\n')) onLine(EMPTY_MASK(line), line, null)
    // when it was seen for the first time
    write?.()
    write = null
    return { code: status, signal: null }
  }
  const engine = { name, env, storage: '', supports: { cpu: true, memory: true, processes: true }, run }
  await removeImages(engine, id, { ids: [image], digests: [] }, never)
  expect(imagesOf(id)[0]).toContain(image)
})

test('a build that fails begins its message with what was wrong, then has what the engine said, and leaves nothing', async () => {
  const claim = claimOf()
  const step = build({ Dockerfile: `FROM ${BASE}\nRUN echo broken on purpose; exit 3\n` })
  await expect(open().build(claim, step, memoryLog(), never)).rejects.toMatchObject({
    reason: 'BUILD_COMMAND_FAILED',
    message: expect.stringMatching(
      /^The image could not be built: building at STEP "RUN .* exit 3": .*exit status 3\.\n(.|\n)*broken on purpose/,
    ),
  })
  expect(place.leftovers()).toEqual(NO_LEFTOVERS)
})

test('without an engine, or without a registry, a build fails at once and names the setting', async () => {
  const step = build({ Dockerfile: `FROM ${BASE}\n` })
  const fails = (changes: Partial<SourceBuilderOptions>) => open(changes).build(claimOf(), step, memoryLog(), never)
  await expect(fails({ engine: 'none' })).rejects.toMatchObject({
    reason: 'NO_BUILDER',
    message: expect.stringMatching(/BUILDER.*run a builder/),
    // what a builder elsewhere pushes to the registry can be run
    elsewhere: true,
  })
  const none = { wanted: 'auto' as const, env: { PATH: '/nowhere' } }
  await expect(fails(none)).rejects.toThrow(/podman is not installed; docker is not installed.*BUILDER/)
  const store = { repository: async () => null, prune: async () => undefined }
  await expect(fails({ store })).rejects.toMatchObject({
    reason: 'NO_BUILDER',
    message: expect.stringMatching(/^REGISTRY_URL/),
    elsewhere: false,
  })
  await expect(fails({ store, engine: 'none' })).rejects.toMatchObject({ reason: 'NO_BUILDER', elsewhere: false })
})

test('secrets that a killed server has left are gone with the next start, also where no engine works any more', async () => {
  const dataDir = path.join(place.root, 'killed')
  const own = makeBuildFolder(path.join(dataDir, 'images/builds'))
  // as one of a process that there is no more
  const [machine] = path.basename(own).split('.')
  const abandoned = path.join(path.dirname(own), `${machine}.4999999.0.${randomUUID()}`)
  fs.renameSync(own, abandoned)
  fs.mkdirSync(path.join(abandoned, 'secrets'))
  open({ dataDir, engine: 'none', warn: () => undefined })
  await expect.poll(() => fs.readdirSync(abandoned), { timeout: 60_000 }).toEqual(['tmp'])
})

test('a registry that is slow to remove images keeps no step waiting: the rest is for the next time', async () => {
  const claim = claimOf()
  const ends: unknown[] = []
  const store = {
    ...place.registry.store,
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
