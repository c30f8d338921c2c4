/**
 * From a push to a running container, and builds that end early, with a real podman and a real registry that verifies
 * our tokens, built by a server and by builders. Where they don't work, one line says why; the stand-in covers it
 * (images.test.ts, ../builder).
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Builder, isKnown, startBuilder, WITHIN } from '../builder/builder-process.ts'
import { type ImageBuilderFixture, openImageBuilder } from '../builder/image-builder.ts'
import { whenCancelled, whenKilled } from '../builder/interrupted-builds.ts'
import { newKey } from '../support/app.ts'
import { dockerRegistryIsInstalled } from '../support/engine/docker-registry.ts'
import { BASE, engineOf, type TestEngine } from '../support/engine/engine.ts'
import { importPython, NODE, realEnvironment, whyNot } from '../support/engine/real-engine.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { processes } from '../support/processes.ts'
import { openRealPlace, type RealPlace } from './real-place.ts'

vi.setConfig({ testTimeout: 480_000, hookTimeout: 240_000 })

/** `npm run chaos -- real-engine` runs all tests. */
const isLongForm = process.env.LONG_FORM === 'on'
const root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'pilothouse-real-')))
mkdirSync(path.join(root, 'engine'))
const env = realEnvironment(path.join(root, 'engine'))
const podman = await whyNot('podman', env, path.join(root, 'engine'))
const lacking = podman ? `podman: ${podman}` : dockerRegistryIsInstalled() ? null : 'docker-registry is not installed'
/** As far as possible: a broken podman may leave mounts, or files of another account. */
function removeRoot(): void {
  try {
    rmSync(root, { recursive: true, force: true })
  } catch (error) {
    console.log(`${root} could not be removed: ${(error as Error).message}`)
  }
}
if (lacking) {
  console.log(`Tests with a real container engine are skipped (${lacking})`)
  // a file whose tests are all skipped runs no hooks
  removeRoot()
}
afterAll(removeRoot)

describe.skipIf(lacking)('on a real podman', () => {
  let engine: TestEngine
  afterAll(() => engine?.close())
  beforeAll(() => {
    engine = engineOf('podman', env, true)
  })

  describe.skipIf(!isLongForm)('builds that end early', () => {
    let place: ImageBuilderFixture
    beforeAll(async () => {
      place = await openImageBuilder(async () => ({ ...engine, close: () => undefined }))
    })
    afterAll(() => place?.close())

    test('a cancelled build leaves no process, no working container and no tag, in any of its phases', () =>
      whenCancelled(place))

    test('the next start of a killed server removes everything of its builds, in any of their phases', () =>
      whenKilled(place))
  })

  describe('from a push to a container that runs', () => {
    const graph = { 'graph.json': '{"graphs": {"agent": "./agent.js:graph"}}' }
    let place: RealPlace
    let server: RunningServer | null = null
    const builders: Builder[] = []
    beforeAll(async () => {
      place = await openRealPlace(root, env)
    })
    afterEach(async () => {
      for (const { child, ended } of [...builders.splice(0), ...(server ? [server] : [])]) {
        child.kill('SIGTERM')
        await ended
      }
      server = null
    })
    afterAll(() => place?.close())

    async function serve(settings: Record<string, string>): Promise<void> {
      server = await startServer({
        ...place.settings,
        DATABASE_URL: place.app.databaseUrl,
        DATA_DIR: path.join(root, 'server'),
        SECRETS_KEYS: place.app.secretsKeys,
        WORKER: 'on',
        LOG_LEVEL: 'warn',
        ...settings,
      })
    }

    test('repositories with and without a Dockerfile become images by digest, which run; no layer has a secret, and a rollback builds nothing', async () => {
      const { app, tags, imageInPod } = place
      // an image with Node or Python takes half of the short form's time
      const noPython = isLongForm
        ? await importPython('podman', env, path.join(root, 'engine')).then(
            () => undefined,
            (error) => error as Error,
          )
        : new Error('only in the long form')
      if (noPython) console.log(`No Python repository is built: ${noPython.message}`)
      await serve({ BUILDER: 'podman' })
      const canary = `canary-${app.tenant.workspaceId}`
      const dockerfile = (said: string) => ({
        ...graph,
        Dockerfile: `FROM ${BASE}
RUN --mount=type=secret,id=TOKEN test "$(cat /run/secrets/TOKEN)" = "${canary.slice(0, 9)}""${canary.slice(9)}"
CMD ["sh", "-c", "echo ${said}; exec sleep 1000"]
`,
      })
      const node = {
        ...graph,
        'package.json': '{"name": "agent", "version": "1.0.0", "scripts": {"start": "node server.cjs"}}',
        'server.cjs': "require('node:http').createServer().listen(0, '127.0.0.1', () => console.log('node'))\n",
      }
      const python = {
        ...graph,
        'requirements.txt': '# none\n',
        Procfile: 'web: python server.py\n',
        'server.py': `from http.server import HTTPServer, SimpleHTTPRequestHandler
server = HTTPServer(('127.0.0.1', 0), SimpleHTTPRequestHandler)
print('python')
server.serve_forever()
`,
      }
      const secrets = [{ name: 'TOKEN', value: canary }]
      const others = { ...(isLongForm ? { node } : {}), ...(noPython ? {} : { python }) }
      const deployments = { dockerfile: dockerfile('dockerfile'), ...others }
      const made = await Promise.all(
        Object.entries(deployments).map(([name, files]) => place.deploy(name, files, secrets)),
      )
      for (const [index, said] of Object.keys(deployments).entries()) {
        const { id, deployed } = made[index]!
        await deployed()
        const image = await imageInPod(id)
        const [tag] = await tags(id)
        const repository = `${app.tenant.workspaceId}/${id}`
        const digest = await app.app.core.registry!.digestOf(repository, tag!)
        expect(image).toBe(`${place.registry.host}/${repository}@${digest}`)
        expect(await place.saidBy(id, image)).toBe(said)
      }
      expect(place.registry.holds(canary)).toBe(false)

      const [{ id, first, follower, deployed }] = made as [(typeof made)[0]]
      const image = await imageInPod(id)
      place.push('dockerfile', dockerfile('second'))
      let from = follower.events.length
      const body = { source_revision_config: { repo_ref: 'main' } }
      await app.rest('POST', `/v2/deployments/${id}/revisions`, { body })
      await deployed(from)
      expect(await imageInPod(id)).not.toBe(image)
      const built = await tags(id)
      expect(built).toHaveLength(2)
      from = follower.events.length
      await app.rest('POST', `/v2/deployments/${id}/revisions/${first}/redeploy`)
      await deployed(from)
      expect(await imageInPod(id)).toBe(image)
      expect(await tags(id)).toEqual(built)
      for (const one of made) await one.follower.close()
    })

    test.skipIf(!isLongForm)(
      'the build of a killed builder is taken by another one: one image, which runs, and no leftovers on their machines',
      async () => {
        const { app } = place
        await serve({ BUILDER: 'none' })
        const key = await newKey(app.app.core, { ...app.tenant, role: 'builder' })
        const dataDir = (name: string) => path.join(root, `builder-${name}`)
        const builder = async (name: string) => {
          const { GIT_DIRECTORY } = place.settings
          const from = { CONTROL_PLANE_URL: app.url, CONTROL_PLANE_API_KEY: key, GIT_DIRECTORY: GIT_DIRECTORY! }
          const started = await startBuilder({ ...env, ...from, BUILDER_NAME: name, DATA_DIR: dataDir(name) })
          builders.push(started)
          await isKnown(started)
          return started
        }
        const first = await builder('first')
        // the image name exists first without Node, then with it, so the second build does not wait
        const gate = 'localhost/pilothouse-test:gate'
        execFileSync('podman', ['tag', BASE, gate], { env })
        const sleep = `sleep 4714.${process.pid}${Date.now()}`
        const { id, deployed, follower } = await place.deploy('builders', {
          ...graph,
          Dockerfile: `FROM ${gate}\nRUN node --version || exec ${sleep}\nCMD ["sh", "-c", "echo built; exec sleep 1000"]\n`,
        })
        await expect.poll(() => processes(sleep), WITHIN).not.toEqual([])
        first.child.kill('SIGKILL')
        await first.ended
        await expect.poll(() => processes(sleep), WITHIN).toEqual([])
        execFileSync('podman', ['tag', NODE, gate], { env })
        await builder('second')
        await deployed()
        await follower.close()
        expect(await place.tags(id)).toHaveLength(1)
        expect(await place.saidBy(id, await place.imageInPod(id))).toBe('built')
        await builder('first')
        for (const name of ['first', 'second'])
          await expect.poll(() => engine.workingContainers(dataDir(name)), WITHIN).toEqual([])
        expect(engine.imagesOf(id)).toEqual([])
      },
    )
  })
})
